package main

import (
	"fmt"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// described returns the fields of a message that the tests check.
func described(received message.Message) map[string]any {
	values := map[string]any{"event": received.MessageTypeName()}
	switch one := received.(type) {
	case *message.AssociationSetupResponse:
		values["retained"] = one.PFCPASRspFlags != nil
		describeCause(values, one.Cause, nil, nil)
	case *message.AssociationReleaseResponse:
		describeCause(values, one.Cause, nil, nil)
	case *message.SessionEstablishmentResponse:
		describeCause(values, one.Cause, one.OffendingIE, one.FailedRuleID)
		for _, created := range one.CreatedPDR {
			describeCreated(values, created)
		}
	case *message.SessionModificationResponse:
		describeCause(values, one.Cause, one.OffendingIE, one.FailedRuleID)
		values["usage"] = usages(one.UsageReport)
	case *message.SessionDeletionResponse:
		describeCause(values, one.Cause, one.OffendingIE, nil)
		values["usage"] = usages(one.UsageReport)
	case *message.SessionReportRequest:
		describeReport(values, one)
	}
	return values
}

func describeCause(values map[string]any, cause, offending, rule *ie.IE) {
	if cause != nil {
		values["cause"], _ = cause.Cause()
	}
	if offending != nil {
		values["offending"], _ = offending.OffendingIE()
	}
	if rule != nil {
		values["failed_rule"] = fmt.Sprintf("%x", rule.Payload)
	}
}

func describeCreated(values map[string]any, created *ie.IE) {
	if tunnel, err := created.FTEID(); err == nil {
		values["uplink_teid"] = tunnel.TEID
		values["upf"] = tunnel.IPv4Address
	}
}

func describeReport(values map[string]any, report *message.SessionReportRequest) {
	values["session"] = report.SEID()
	values["event"] = "report"
	if report.DownlinkDataReport != nil {
		values["report"] = "downlink data"
		if id, err := report.DownlinkDataReport.PDRID(); err == nil {
			values["pdr"] = id
		}
	}
	if report.ErrorIndicationReport != nil {
		values["report"] = "error indication"
		if tunnel, err := report.ErrorIndicationReport.FTEID(); err == nil {
			values["teid"] = tunnel.TEID
		}
	}
	if len(report.UsageReport) > 0 {
		values["report"] = "usage"
		values["usage"] = usages(report.UsageReport)
	}
}

func usages(reports []*ie.IE) []map[string]any {
	found := []map[string]any{}
	for _, report := range reports {
		one := map[string]any{}
		if id, err := report.URRID(); err == nil {
			one["urr"] = id
		}
		if number, err := report.URSEQN(); err == nil {
			one["number"] = number
		}
		if trigger, err := report.UsageReportTrigger(); err == nil && len(trigger) >= 2 {
			one["trigger"] = []int{int(trigger[0]), int(trigger[1])}
		}
		if volume, err := report.VolumeMeasurement(); err == nil {
			one["uplink"], one["downlink"] = volume.UplinkVolume, volume.DownlinkVolume
			one["uplink_packets"], one["downlink_packets"] = volume.UplinkNumberOfPackets, volume.DownlinkNumberOfPackets
		}
		if duration, err := report.DurationMeasurement(); err == nil {
			one["seconds"] = duration.Seconds()
		}
		found = append(found, one)
	}
	return found
}
