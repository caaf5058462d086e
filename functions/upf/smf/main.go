// An SMF for the tests of `forebay upf`, with the codec of go-pfcp. It reads commands from the standard input, a JSON object a line, and
// prints the messages that it receives as JSON lines.
//
//	go run . -bind 192.168.4.2 -upf 192.168.4.1
//	{"do": "associate"}
//	{"do": "establish", "session": 1, "ue": "10.45.0.2", "gnb": "192.168.3.2", "teid": 8193, "qfi": 9}
//	{"do": "modify", "session": 1, "state": "idle"}
//	{"do": "delete", "session": 1}
//
// The type command in commands.go has all of them.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// port is the UDP port of PFCP (TS 29.244 §4.2.2).
const port = 8805

// smf is an SMF and the state of its sessions.
type smf struct {
	connection *net.UDPConn
	own        net.IP
	upf        *net.UDPAddr
	output     sync.Mutex

	lock     sync.Mutex
	started  time.Time
	sequence uint32
	silent   bool
	// SEIDs of the UPF by the number of the session, which is also the SEID of this side.
	seids map[uint64]uint64
	// Where answers go, by sequence number.
	waiting map[uint32]chan message.Message
}

func main() {
	bind := flag.String("bind", "127.0.0.2", "address of the SMF")
	upf := flag.String("upf", "127.0.0.1", "address of the UPF")
	flag.Parse()
	own := net.ParseIP(*bind)
	connection, err := net.ListenUDP("udp", &net.UDPAddr{IP: own, Port: port})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	connection.SetReadBuffer(4 << 20)
	one := &smf{
		connection: connection,
		own:        own,
		upf:        &net.UDPAddr{IP: net.ParseIP(*upf), Port: port},
		started:    time.Now(),
		seids:      map[uint64]uint64{},
		waiting:    map[uint32]chan message.Message{},
	}
	go one.listen()
	one.print(map[string]any{"event": "ready"})
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		var read command
		if err := json.Unmarshal(commands.Bytes(), &read); err != nil {
			one.print(map[string]any{"event": "error", "why": err.Error()})
			continue
		}
		if err := one.do(&read); err != nil {
			one.print(map[string]any{"event": "error", "do": read.Do, "why": err.Error()})
		}
	}
}

func (s *smf) print(values map[string]any) {
	text, _ := json.Marshal(values)
	s.output.Lock()
	defer s.output.Unlock()
	fmt.Println(string(text))
}

// listen receives messages: it passes answers to the callers of ask, and answers requests.
func (s *smf) listen() {
	buffer := make([]byte, 65536)
	for {
		length, from, err := s.connection.ReadFromUDP(buffer)
		if err != nil {
			return
		}
		parsed, err := message.Parse(append([]byte(nil), buffer[:length]...))
		if err != nil {
			s.print(map[string]any{"event": "error", "why": "go-pfcp: " + err.Error()})
			continue
		}
		s.take(parsed, from)
	}
}

func (s *smf) take(received message.Message, from *net.UDPAddr) {
	s.lock.Lock()
	silent, waiting := s.silent, s.waiting[received.Sequence()]
	s.lock.Unlock()
	if silent {
		return
	}
	switch request := received.(type) {
	case *message.HeartbeatRequest:
		s.send(message.NewHeartbeatResponse(request.Sequence(), s.recovery()), from)
	case *message.SessionReportRequest:
		s.print(described(request))
		seid := s.seid(request.SEID())
		s.send(message.NewSessionReportResponse(0, 0, seid, request.Sequence(), 0, ie.NewCause(ie.CauseRequestAccepted)), from)
	case *message.NodeReportRequest:
		s.print(map[string]any{"event": "node report", "failed": request.UserPlanePathFailureReport != nil})
		s.send(message.NewNodeReportResponse(request.Sequence(), s.nodeID(), ie.NewCause(ie.CauseRequestAccepted), nil), from)
	default:
		if waiting != nil {
			waiting <- received
		}
	}
}

// recovery returns the recovery time stamp: when the SMF has started, for its peers.
func (s *smf) recovery() *ie.IE {
	s.lock.Lock()
	defer s.lock.Unlock()
	return ie.NewRecoveryTimeStamp(s.started)
}

func (s *smf) seid(session uint64) uint64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.seids[session]
}

func (s *smf) send(sent message.Message, to *net.UDPAddr) {
	bytes := make([]byte, sent.MarshalLen())
	if err := sent.MarshalTo(bytes); err != nil {
		s.print(map[string]any{"event": "error", "why": "go-pfcp: " + err.Error()})
		return
	}
	s.connection.WriteToUDP(bytes, to)
}

// ask sends a request at most three times, and returns its answer.
func (s *smf) ask(make func(sequence uint32) message.Message) (message.Message, error) {
	s.lock.Lock()
	s.sequence++
	sequence := s.sequence
	answer := newAnswer(s, sequence)
	s.lock.Unlock()
	defer func() {
		s.lock.Lock()
		delete(s.waiting, sequence)
		s.lock.Unlock()
	}()
	request := make(sequence)
	for attempt := 0; attempt < 3; attempt++ {
		s.send(request, s.upf)
		select {
		case received := <-answer:
			return received, nil
		case <-time.After(2 * time.Second):
		}
	}
	return nil, fmt.Errorf("no answer to %s", request.MessageTypeName())
}

func newAnswer(s *smf, sequence uint32) chan message.Message {
	answer := make(chan message.Message, 4)
	s.waiting[sequence] = answer
	return answer
}

func (s *smf) nodeID() *ie.IE {
	if v4 := s.own.To4(); v4 != nil {
		return ie.NewNodeID(v4.String(), "", "")
	}
	return ie.NewNodeID("", s.own.String(), "")
}
