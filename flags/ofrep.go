package flags

import (
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// What a flag's value is: on or off for a flag without variants; the key of the
// variant, also given as variant, for one with variants; for remote configuration
// its payload, as the JSON that it stands for. Where such a flag has no variant or
// no payload to give, and for a flag that is disabled, there is no value: the
// caller's default holds (ADR 6 of the protocol). Whether a value has the type that was asked for is the client's to say.
//
// metadata, whose members the protocol wants flat: id, version, reason_code and
// condition_index as in /flags, and payload: as a text, a number or a boolean, and
// objects and lists as their JSON text.
//
// Reasons and error codes are those of Decision.OpenFeature. DEFAULT, which
// the list of reasons in the protocol's OpenAPI lacks, is the word of its ADR 6.

// AppendOFREP appends the decision as the answer of OFREP for one flag. One that failed or
// is not decided has an error code. A nil Decision is that of a flag that is off.
func (d *Decision) AppendOFREP(b []byte) []byte {
	if d == nil {
		d = &Decision{Reason: Reason{Condition: NoCondition}}
	}
	b = append(b, `{"key":`...)
	b = wire.AppendQuoted(b, d.Key)
	reason, errorCode := d.OpenFeature()
	if errorCode != "" {
		b = append(b, `,"errorCode":"`...)
		b = append(b, errorCode...)
		b = append(b, `","errorDetails":"`...)
		b = d.Reason.AppendDescription(b) // plain text
	} else {
		b = appendOFREPValue(b, d)
		b = append(b, `,"reason":"`...)
		b = append(b, reason...)
	}
	b = append(b, `","metadata":{`...)
	if d.ID != 0 {
		b = append(b, `"id":`...)
		b = strconv.AppendInt(b, d.ID, 10)
		b = append(b, `,"version":`...)
		b = strconv.AppendInt(b, d.Version, 10)
		b = append(b, ',')
	}
	b = append(b, `"reason_code":"`...)
	b = append(b, d.Reason.Code.String()...)
	b = append(b, '"')
	if d.Reason.Condition >= 0 {
		b = append(b, `,"condition_index":`...)
		b = strconv.AppendInt(b, int64(d.Reason.Condition), 10)
	}
	b = appendFlatPayload(b, d.Payload)
	return append(b, "}}"...)
}

// appendOFREPValue writes the members value and variant, as far as there are any.
func appendOFREPValue(b []byte, d *Decision) []byte {
	from := len(b)
	if d.Variant != "" {
		b = wire.AppendQuoted(append(b, `,"variant":`...), d.Variant)
	}
	variant := b[from:]
	switch {
	case d.Reason.Code == FlagDisabled:
	case d.Kind == ConfigKind:
		if value := d.PayloadJSON(); d.Enabled && len(value) > 0 && string(value) != "null" {
			b = append(append(b, `,"value":`...), value...)
		}
	case d.Kind == VariantKind:
		if len(variant) > 0 {
			b = append(b, `,"value":`...)
			b = append(b, variant[len(`,"variant":`):]...)
		}
	case d.Enabled:
		b = append(b, `,"value":true`...)
	default:
		b = append(b, `,"value":false`...)
	}
	return b
}

// appendFlatPayload writes a payload as a member of metadata.
func appendFlatPayload(b, payload []byte) []byte {
	if len(payload) == 0 || string(payload) == "null" {
		return b
	}
	b = append(b, `,"payload":`...)
	if payload[0] == '{' || payload[0] == '[' {
		return wire.AppendQuoted(b, string(payload))
	}
	return append(b, payload...)
}
