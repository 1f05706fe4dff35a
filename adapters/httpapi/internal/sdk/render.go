package sdk

import (
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
)

// configMembers are the members that config=true adds, exactly those of the interface document
// (decision 9). The members from the project's settings follow them.
const configMembers = `"supportedCompression":["gzip","lz64"],"config":{"enable_collect_everything":true},"toolbarParams":{},"isAuthenticated":false`

// appendAnswer appends a response with flags (§9.6). If empty is true, it has no flags, even if
// there are decisions.
func appendAnswer(b []byte, f format, a *serving.Answer, requestID string, empty bool) []byte {
	list := a.Decisions.List
	if empty || a.QuotaLimited {
		list = nil
	}
	b = append(b, '{')
	switch f.shape {
	case shapeV2:
		b = append(b, `"errorsWhileComputingFlags":`...)
		b = strconv.AppendBool(b, a.Decisions.Errors)
		b = append(b, `,"flags":{`...)
		for i := range list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendFlag(b, &list[i])
		}
		b = append(b, '}')
		if a.Set != nil && a.Set.MinimalFlagCalledEvents() {
			b = append(b, `,"minimalFlagCalledEvents":true`...)
		}
	case shapeLegacy:
		b = append(b, `"errorsWhileComputingFlags":`...)
		b = strconv.AppendBool(b, a.Decisions.Errors)
		b = append(b, `,"featureFlags":{`...)
		b = appendValues(b, list, true)
		b = append(b, `},"featureFlagPayloads":{`...)
		b = appendPayloads(b, list)
		b = append(b, '}')
	case shapeMap:
		b = append(b, `"featureFlags":{`...)
		b = appendValues(b, list, false)
		b = append(b, '}')
	case shapeList:
		b = append(b, `"featureFlags":[`...)
		first := true
		for i := range list {
			if list[i].Enabled {
				b = comma(b, &first)
				b = wire.AppendQuoted(b, list[i].Key)
			}
		}
		b = append(b, ']')
	}
	if a.QuotaLimited { // posthog-go reads the second spelling (decision 11)
		b = append(b, `,"quotaLimited":["feature_flags"],"quota_limited":["feature_flags"]`...)
	}
	b = append(b, `,"requestId":"`...)
	b = append(b, requestID...)
	b = append(b, `","evaluatedAt":`...)
	b = strconv.AppendInt(b, a.At.UnixMilli(), 10)
	if f.config {
		b = append(b, ',')
		b = append(b, configMembers...)
		b = appendBrowser(b, a.Project.Browser)
	}
	return append(b, '}')
}

// appendBrowser appends the members of a project's settings for browsers, a JSON object, to an
// object. An empty object adds no members.
func appendBrowser(b []byte, object string) []byte {
	if len(object) <= len("{}") {
		return b
	}
	b = append(b, ',')
	return append(b, object[1:len(object)-1]...)
}

// appendFlag appends one member of flags.
func appendFlag(b []byte, d *flags.Decision) []byte {
	from := len(b)
	b = wire.AppendQuoted(b, d.Key)
	key := b[from:]
	b = append(b, `:{"key":`...)
	b = append(b, key...)
	switch {
	case d.Variant != "":
		b = append(b, `,"enabled":`...)
		b = strconv.AppendBool(b, d.Enabled)
		b = append(b, `,"variant":`...)
		b = wire.AppendQuoted(b, d.Variant)
	case d.Enabled:
		b = append(b, `,"enabled":true,"variant":null`...)
	default:
		b = append(b, `,"enabled":false,"variant":null`...)
	}
	if d.Failed() {
		b = append(b, `,"failed":true`...)
	}
	b = append(b, `,"reason":{"code":"`...)
	b = append(b, d.Reason.Code.String()...)
	b = append(b, `","condition_index":`...)
	if d.Reason.Condition >= 0 {
		b = appendInt(b, int64(d.Reason.Condition))
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"description":"`...)
	b = d.Reason.AppendDescription(b)
	b = append(b, `"},"metadata":{"id":`...)
	b = appendInt(b, d.ID)
	b = append(b, `,"version":`...)
	b = appendInt(b, d.Version)
	if d.Payload == nil && !d.HasExperiment { // the common case
		return append(b, `,"description":null,"payload":null,"has_experiment":false}}`...)
	}
	b = append(b, `,"description":null,"payload":`...)
	if d.Payload != nil {
		b = append(b, d.Payload...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"has_experiment":`...)
	return append(strconv.AppendBool(b, d.HasExperiment), "}}"...)
}

// appendInt is like strconv.AppendInt, but faster for one digit.
func appendInt(b []byte, n int64) []byte {
	if uint64(n) < 10 {
		return append(b, byte('0'+n))
	}
	return strconv.AppendInt(b, n, 10)
}

// appendValues appends the values of flags by key. If off is true, it includes flags that are
// off.
func appendValues(b []byte, list []flags.Decision, off bool) []byte {
	first := true
	for i := range list {
		d := &list[i]
		if !d.Enabled && !off {
			continue
		}
		b = comma(b, &first)
		b = append(wire.AppendQuoted(b, d.Key), ':')
		if d.Variant != "" {
			b = wire.AppendQuoted(b, d.Variant)
		} else {
			b = strconv.AppendBool(b, d.Enabled)
		}
	}
	return b
}

// appendPayloads appends the payloads of flags by key.
func appendPayloads(b []byte, list []flags.Decision) []byte {
	first := true
	for i := range list {
		if d := &list[i]; d.Payload != nil {
			b = comma(b, &first)
			b = append(wire.AppendQuoted(b, d.Key), ':')
			b = append(b, d.Payload...)
		}
	}
	return b
}

// comma appends a comma, except before the first element.
func comma(b []byte, first *bool) []byte {
	if *first {
		*first = false
		return b
	}
	return append(b, ',')
}

// shape is one of the response formats of §9.6.
type shape uint8

const (
	shapeV2     shape = iota // flags: {key: {…}}
	shapeLegacy              // featureFlags: {key: value}, with payloads
	shapeMap                 // featureFlags: {key: value} of enabled flags
	shapeList                // featureFlags: [key] of enabled flags
)

// format is the format of a response with flags.
type format struct {
	shape  shape
	config bool
}

// flagsFormat returns the format of /flags (§9.5).
func flagsFormat(q flagsQuery) format {
	switch {
	case !q.HasV && !q.HasConfig:
		return format{shapeV2, true}
	case q.HasV && q.V >= 2:
		return format{shapeV2, q.Config}
	}
	return format{shapeLegacy, q.Config}
}

// decideFormat returns the format of /decide, which includes the configuration unless the query
// disables it.
func decideFormat(q flagsQuery) format {
	f := format{shapeList, q.Config || !q.HasConfig}
	switch {
	case !q.HasV:
	case q.V == 2:
		f.shape = shapeMap
	case q.V == 3:
		f.shape = shapeLegacy
	case q.V >= 4:
		f.shape = shapeV2
	}
	return f
}
