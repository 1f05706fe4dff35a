package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// expose sends $feature_flag_called, once for each key that exposures.key returns. If the queue is
// full, the exposure is sent when the flag is read the next time.
func (c *Client) expose(key string, sub *flags.Subject, r *result, problem error) {
	if c.config.NoExposures || sub == nil || sub.DistinctID == "" {
		return
	}
	// Each kind of response has its own form, because the variant "true" is not the value true.
	response := "-"
	switch {
	case problem != nil:
	case r.d.Variant != "":
		response = "=" + r.d.Variant
	case r.d.Enabled:
		response = "true"
	default:
		response = "false"
	}
	k := c.exposures.key(sub.DistinctID, key, response, sub.Groups)
	if !c.exposures.isFirst(k) {
		return
	}
	if c.enqueue(Event{DistinctID: sub.DistinctID, Name: "$feature_flag_called", Properties: c.exposure(key, sub, r, problem), Groups: sub.Groups}) != nil {
		c.exposures.forget(k)
	}
}

// exposure returns the properties of §10.3. The minimal set lacks $feature/<key> and the payload.
func (c *Client) exposure(key string, sub *flags.Subject, r *result, problem error) map[string]any {
	p := map[string]any{
		"$feature_flag": key, "$feature_flag_response": nil, "locally_evaluated": r.found && r.from == nil && problem == nil,
		"$geoip_disable": !c.config.GeoIP, "$is_server": true,
	}
	if problem == nil {
		p["$feature_flag_response"] = r.d.Value()
	}
	if text := exposureError(r, problem); text != "" {
		p["$feature_flag_error"] = text
	}
	if sub.DeviceID != "" {
		p["$device_id"] = sub.DeviceID
	}
	minimal := false
	if r.from != nil {
		if r.from.RequestID != "" {
			p["$feature_flag_request_id"] = r.from.RequestID
		}
		if !r.from.EvaluatedAt.IsZero() {
			p["$feature_flag_evaluated_at"] = r.from.EvaluatedAt.UnixMilli()
		}
		minimal = r.found && r.from.minimal[key]
	} else if set := c.set(); r.found && set != nil {
		minimal = set.MinimalFlagCalledEvents() && !r.d.HasExperiment
	}
	if r.found && (r.from == nil || r.d.ID != 0) { // older servers return only the value
		p["$feature_flag_id"], p["$feature_flag_version"] = r.d.ID, r.d.Version
		p["$feature_flag_has_experiment"] = r.d.HasExperiment
		if reason := r.d.Reason.Description(); reason != "" {
			p["$feature_flag_reason"] = reason
		}
	}
	if !minimal {
		p["$feature/"+key] = p["$feature_flag_response"]
		if r.found && r.d.Payload != nil && problem == nil {
			p["$feature_flag_payload"] = r.d.Payload
		}
	}
	return p
}

// exposureError returns $feature_flag_error (§10.3), or "" if there is no error. It combines the
// server's errors for the whole response and the reason why the flag has no value.
func exposureError(r *result, problem error) string {
	const computing = "errors_while_computing_flags"
	var status *StatusError
	var network net.Error
	switch {
	case problem == nil || errors.Is(problem, flags.ErrUnknownFlag):
		var codes []string
		if r.from != nil && r.from.Errors {
			codes = append(codes, computing)
		}
		if problem != nil {
			codes = append(codes, "flag_missing")
		}
		return strings.Join(codes, ",")
	case r.err == nil: // the flag failed or cannot be decided locally
		return computing
	case errors.Is(r.err, flags.ErrQuotaLimited):
		return "quota_limited"
	case errors.As(r.err, &status):
		return "api_error_" + strconv.Itoa(status.Status)
	case errors.Is(r.err, context.DeadlineExceeded), errors.Is(r.err, context.Canceled), os.IsTimeout(r.err):
		return "timeout"
	case errors.As(r.err, &network), errors.Is(r.err, io.ErrUnexpectedEOF), errors.Is(r.err, io.EOF):
		return "connection_error"
	}
	return "unknown_error"
}
