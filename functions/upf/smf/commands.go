package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// command is a line of the input. A field that the line does not have is zero, and is left out of rules.
type command struct {
	// associate, release, establish, modify, delete, raw, silence, restart, heartbeat or load
	Do      string `json:"do"`
	Session uint64 `json:"session"`
	// The UE: an IPv4 address, and an address of its IPv6 prefix.
	UE       string `json:"ue"`
	UEPrefix string `json:"ue_prefix"`
	// The tunnel of the gNB.
	GNB  string `json:"gnb"`
	TEID uint32 `json:"teid"`
	QFI  uint8  `json:"qfi"`
	// The tunnel at the UPF; 0 leaves the choice to the UPF.
	UplinkTEID uint32 `json:"uplink_teid"`
	// "idle" or "active": what the downlink FAR does.
	State string `json:"state"`
	// Rates of the flow and of the session in kbit/s.
	FlowRate    uint64 `json:"flow_kbps"`
	SessionRate uint64 `json:"session_kbps"`
	// Usage: bytes of both directions, seconds.
	Threshold uint64 `json:"volume_threshold"`
	Quota     uint64 `json:"volume_quota"`
	Period    uint64 `json:"period"`
	Query     bool   `json:"query"`
	// Further URRs of each PDR, which only count.
	MoreURRs uint32 `json:"more_urrs"`
	// Flow descriptions of a PDR of their own, which drops.
	Blocked []string `json:"blocked"`
	// Whether the UPF sends an end marker into the old tunnel (SNDEM of PFCPSMReq-Flags).
	EndMarker bool `json:"end_marker"`
	// Whether sessions are retained when the association is set up again.
	Retain bool `json:"retain"`
	// The bytes of a datagram for "raw".
	Hex string `json:"hex"`
	// "silence": whether requests of the UPF get no answers.
	On bool `json:"on"`
	// "load": sessions to be established, and how many of them at the same time.
	Count  int `json:"count"`
	Window int `json:"window"`
}

const (
	uplinkPDR, downlinkPDR, blockedUplinkPDR, blockedDownlinkPDR = 1, 2, 3, 4
	uplinkFAR, downlinkFAR, dropFAR                              = 1, 2, 3
	flowQER, sessionQER                                          = 1, 2
	theURR                                                       = 1

	// Apply Action (TS 29.244 §8.2.26): DROP, FORW, BUFF with NOCP.
	drop, forward, bufferAndNotify = 1, 2, 12

	// F-TEID (§8.2.3): V4, CH, CHID.
	teidIPv4, teidChoose, teidChooseID = 1, 4, 8

	// UE IP Address (§8.2.62): V6, V4, S/D.
	addressIPv6, addressIPv4, addressIsDestination = 1, 2, 4

	// Reporting Triggers (§8.2.19), first octet: PERIO, VOLTH; second octet: VOLQU.
	periodicReporting, volumeThreshold = 1, 2
	volumeQuota                        = 1

	// Volume Threshold (§8.2.13) and Volume Quota (§8.2.50): TOVOL.
	totalVolume = 1

	// Measurement Information (§8.2.68): MNOP, packets are counted, too.
	measurePackets = 16

	// Outer Header Creation (§8.2.56): GTP-U over UDP.
	gtpuOverIPv4, gtpuOverIPv6 = 0x0100, 0x0200

	// PFCPSMReq-Flags (§8.2.31): SNDEM.
	sendEndMarker = 2
)

func (s *smf) do(c *command) error {
	switch c.Do {
	case "associate":
		return s.associate(c)
	case "release":
		return s.answered(c, func(sequence uint32) message.Message {
			return message.NewAssociationReleaseRequest(sequence, s.nodeID())
		})
	case "establish":
		return s.establish(c)
	case "modify":
		return s.answered(c, func(sequence uint32) message.Message {
			return message.NewSessionModificationRequest(0, 0, s.seid(c.Session), sequence, 0, c.changes()...)
		})
	case "delete":
		return s.answered(c, func(sequence uint32) message.Message {
			return message.NewSessionDeletionRequest(0, 0, s.seid(c.Session), sequence, 0)
		})
	case "raw":
		bytes, err := hex.DecodeString(c.Hex)
		if err == nil {
			_, err = s.connection.WriteToUDP(bytes, s.upf)
		}
		return err
	case "silence":
		s.lock.Lock()
		s.silent = c.On
		s.lock.Unlock()
		return nil
	case "restart":
		// The same address, another recovery time stamp, no association.
		s.lock.Lock()
		s.started = s.started.Add(time.Minute)
		s.lock.Unlock()
		return nil
	case "heartbeat":
		return s.answered(c, func(sequence uint32) message.Message {
			return message.NewHeartbeatRequest(sequence, s.recovery(), nil)
		})
	case "load":
		return s.load(c)
	}
	return fmt.Errorf("unknown command %q", c.Do)
}

func (s *smf) answered(c *command, make func(sequence uint32) message.Message) error {
	answer, err := s.ask(make)
	if err != nil {
		return err
	}
	values := described(answer)
	values["do"] = c.Do
	s.print(values)
	return nil
}

func (s *smf) associate(c *command) error {
	return s.answered(c, func(sequence uint32) message.Message {
		elements := []*ie.IE{s.nodeID(), s.recovery()}
		if c.Retain {
			elements = append(elements, ie.NewPFCPSessionRetentionInformation(ie.NewCPPFCPEntityIPAddress(s.own.To4(), nil)))
		}
		return message.NewAssociationSetupRequest(sequence, elements...)
	})
}

func (s *smf) establish(c *command) error {
	answer, err := s.ask(func(sequence uint32) message.Message { return s.establishment(c, sequence) })
	if err != nil {
		return err
	}
	values := described(answer)
	values["do"] = c.Do
	s.remember(c.Session, answer)
	s.print(values)
	return nil
}

func (s *smf) establishment(c *command, sequence uint32) message.Message {
	elements := []*ie.IE{s.nodeID(), ie.NewFSEID(c.Session, s.own.To4(), s.ownV6()), ie.NewPDNType(ie.PDNTypeIPv4)}
	return message.NewSessionEstablishmentRequest(0, 0, 0, sequence, 0, append(elements, c.rules()...)...)
}

func (s *smf) ownV6() net.IP {
	if s.own.To4() != nil {
		return nil
	}
	return s.own
}

// remember stores the SEID that the UPF has given a session.
func (s *smf) remember(session uint64, answer message.Message) {
	response, ok := answer.(*message.SessionEstablishmentResponse)
	if !ok || response.UPFSEID == nil {
		return
	}
	if fields, err := response.UPFSEID.FSEID(); err == nil {
		s.lock.Lock()
		s.seids[session] = fields.SEID
		s.lock.Unlock()
	}
}

// rules returns the rules of a new session.
func (c *command) rules() []*ie.IE {
	rules := []*ie.IE{
		ie.NewCreatePDR(c.uplink(uplinkPDR, 200, uplinkFAR, nil)...),
		ie.NewCreatePDR(c.downlink(downlinkPDR, 200, downlinkFAR, nil)...),
		ie.NewCreateFAR(ie.NewFARID(uplinkFAR), ie.NewApplyAction(forward, 0),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(ie.NewFARID(downlinkFAR), c.action(), ie.NewForwardingParameters(c.towardsGNB()...)),
		ie.NewCreateQER(c.flow()...),
		ie.NewCreateQER(ie.NewQERID(sessionQER), ie.NewGateStatus(0, 0), ie.NewMBR(rate(c.SessionRate), rate(c.SessionRate))),
		ie.NewCreateURR(c.usage()...),
	}
	for id := uint32(theURR + 1); id <= theURR+c.MoreURRs; id++ {
		rules = append(rules, ie.NewCreateURR(ie.NewURRID(id), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0, 0)))
	}
	if len(c.Blocked) > 0 {
		rules = append(rules,
			ie.NewCreateFAR(ie.NewFARID(dropFAR), ie.NewApplyAction(drop, 0)),
			ie.NewCreatePDR(c.uplink(blockedUplinkPDR, 100, dropFAR, c.Blocked)...),
			ie.NewCreatePDR(c.downlink(blockedDownlinkPDR, 100, dropFAR, c.Blocked)...))
	}
	return rules
}

// rate returns a rate that no test reaches when the command has none.
func rate(kbps uint64) uint64 {
	if kbps == 0 {
		return 100_000_000
	}
	return kbps
}

func (c *command) flow() []*ie.IE {
	return []*ie.IE{
		ie.NewQERID(flowQER), ie.NewGateStatus(0, 0), ie.NewMBR(rate(c.FlowRate), rate(c.FlowRate)), ie.NewQFI(c.QFI),
	}
}

func (c *command) usage() []*ie.IE {
	var triggers uint8
	elements := []*ie.IE{ie.NewURRID(theURR), ie.NewMeasurementMethod(0, 1, 1), ie.NewMeasurementInformation(measurePackets)}
	if c.Threshold > 0 {
		triggers |= volumeThreshold
		elements = append(elements, ie.NewVolumeThreshold(totalVolume, c.Threshold, 0, 0))
	}
	if c.Period > 0 {
		triggers |= periodicReporting
		elements = append(elements, ie.NewMeasurementPeriod(time.Duration(c.Period)*time.Second))
	}
	var quota uint8
	if c.Quota > 0 {
		quota = volumeQuota
		elements = append(elements, ie.NewVolumeQuota(totalVolume, c.Quota, 0, 0))
	}
	return append(elements, ie.NewReportingTriggers(triggers, quota, 0))
}

func (c *command) uplink(id uint16, precedence, far uint32, filters []string) []*ie.IE {
	// Without a TEID the UPF chooses one, the same for all PDRs with this CHOOSE ID.
	tunnel := ie.NewFTEID(teidIPv4|teidChoose|teidChooseID, 0, nil, nil, 1)
	if c.UplinkTEID != 0 {
		tunnel = ie.NewFTEID(teidIPv4, c.UplinkTEID, net.IPv4(192, 168, 3, 1), nil, 0)
	}
	detection := []*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceAccess), tunnel, c.address(0)}
	return c.rule(id, precedence, far, detection, filters, ie.NewOuterHeaderRemoval(0, 0))
}

func (c *command) downlink(id uint16, precedence, far uint32, filters []string) []*ie.IE {
	detection := []*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), c.address(addressIsDestination)}
	return c.rule(id, precedence, far, detection, filters)
}

func (c *command) rule(id uint16, precedence, far uint32, detection []*ie.IE, filters []string, more ...*ie.IE) []*ie.IE {
	for _, filter := range filters {
		detection = append(detection, ie.NewSDFFilter(filter, "", "", "", 0))
	}
	elements := []*ie.IE{
		ie.NewPDRID(id), ie.NewPrecedence(precedence), ie.NewPDI(detection...), ie.NewFARID(far),
		ie.NewURRID(theURR), ie.NewQERID(flowQER), ie.NewQERID(sessionQER),
	}
	for id := uint32(theURR + 1); id <= theURR+c.MoreURRs; id++ {
		elements = append(elements, ie.NewURRID(id))
	}
	return append(elements, more...)
}

// address returns the address of the UE, as the source (0) or the destination of packets.
func (c *command) address(direction uint8) *ie.IE {
	flags := direction
	if c.UE != "" {
		flags |= addressIPv4
	}
	if c.UEPrefix != "" {
		flags |= addressIPv6
	}
	return ie.NewUEIPAddress(flags, c.UE, c.UEPrefix, 0, 0)
}

func (c *command) action() *ie.IE {
	if c.State == "idle" {
		return ie.NewApplyAction(bufferAndNotify, 0)
	}
	return ie.NewApplyAction(forward, 0)
}

func (c *command) towardsGNB() []*ie.IE {
	tunnel := ie.NewOuterHeaderCreation(gtpuOverIPv4, c.TEID, c.GNB, "", 0, 0, 0)
	if address := net.ParseIP(c.GNB); address != nil && address.To4() == nil {
		tunnel = ie.NewOuterHeaderCreation(gtpuOverIPv6, c.TEID, "", c.GNB, 0, 0, 0)
	}
	return []*ie.IE{ie.NewDestinationInterface(ie.DstInterfaceAccess), tunnel}
}

// changes returns the elements of a modification: of the downlink FAR, the QER of the flow, and the URR.
func (c *command) changes() []*ie.IE {
	var changes []*ie.IE
	if c.State != "" {
		update := []*ie.IE{ie.NewFARID(downlinkFAR), c.action()}
		if c.GNB != "" {
			parameters := c.towardsGNB()
			if c.EndMarker {
				parameters = append(parameters, ie.NewPFCPSMReqFlags(sendEndMarker))
			}
			update = append(update, ie.NewUpdateForwardingParameters(parameters...))
		}
		changes = append(changes, ie.NewUpdateFAR(update...))
	}
	if c.FlowRate > 0 {
		changes = append(changes, ie.NewUpdateQER(c.flow()...))
	}
	if c.Threshold > 0 || c.Quota > 0 || c.Period > 0 {
		changes = append(changes, ie.NewUpdateURR(c.usage()...))
	}
	if c.Query {
		for id := uint32(theURR); id <= theURR+c.MoreURRs; id++ {
			changes = append(changes, ie.NewQueryURR(ie.NewURRID(id)))
		}
	}
	return changes
}

// load establishes many sessions, several at a time, and prints the time that it took.
func (s *smf) load(c *command) error {
	if c.Count < 1 {
		return fmt.Errorf("load: a count of sessions from 1 on is needed")
	}
	numbers := make(chan int)
	var group sync.WaitGroup
	var refused atomic.Int64
	times := make([]time.Duration, c.Count)
	began := time.Now()
	for worker := 0; worker < max(c.Window, 1); worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range numbers {
				sent := time.Now()
				if !s.loadOne(c, number) {
					refused.Add(1)
				}
				times[number] = time.Since(sent)
			}
		}()
	}
	for number := 0; number < c.Count; number++ {
		numbers <- number
	}
	close(numbers)
	group.Wait()
	took := time.Since(began)
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	s.print(map[string]any{
		"event": "loaded", "sessions": c.Count, "refused": refused.Load(), "seconds": took.Seconds(),
		"per_second": float64(c.Count) / took.Seconds(), "median_ms": ms(times[len(times)/2]), "p99_ms": ms(times[len(times)*99/100]),
	})
	return nil
}

func ms(duration time.Duration) float64 {
	return float64(duration.Microseconds()) / 1000
}

func (s *smf) loadOne(c *command, number int) bool {
	one := *c
	one.Session = c.Session + uint64(number)
	one.UE = net.IPv4(10, byte(46+number>>16), byte(number>>8), byte(number)).String()
	one.TEID = uint32(0x100000 + number)
	answer, err := s.ask(func(sequence uint32) message.Message { return s.establishment(&one, sequence) })
	if err != nil {
		s.print(map[string]any{"event": "error", "why": err.Error()})
		return false
	}
	s.remember(one.Session, answer)
	return described(answer)["cause"] == uint8(ie.CauseRequestAccepted)
}
