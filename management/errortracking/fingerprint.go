package errortracking

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// maxFingerprint is how long a client's fingerprint may be, in characters, before
// a hash of it takes its place.
const maxFingerprint = 200

// exception is what error tracking reads of an event's properties
// (spec/capture.md §12.6).
type exception struct {
	Fingerprint json.RawMessage `json:"$exception_fingerprint"`
	List        []exceptionItem `json:"$exception_list"`
	// Type and Message are those of old SDKs, which send no list.
	Type    json.RawMessage `json:"$exception_type"`
	Message json.RawMessage `json:"$exception_message"`
}

// exceptionItem is an exception of the list: the first is what was caught, the
// others are what it came from.
type exceptionItem struct {
	Type       json.RawMessage `json:"type"`
	Value      json.RawMessage `json:"value"`
	Stacktrace json.RawMessage `json:"stacktrace"`
}

type stackFrame struct {
	InApp    json.RawMessage `json:"in_app"`
	Filename json.RawMessage `json:"filename"`
	Function json.RawMessage `json:"function"`
}

// readException reads the properties of an event. What has another type than it
// should counts as not there, and the decoder goes on behind it.
func readException(properties string) *exception {
	e := &exception{}
	_ = json.Unmarshal([]byte(properties), e) // whatever it is, it is an exception
	return e
}

// items are the exceptions of the list, or the one that an old SDK sends.
func (e *exception) items() []exceptionItem {
	if len(e.List) > 0 {
		return e.List
	}
	return []exceptionItem{{Type: e.Type, Value: e.Message}}
}

// title is the type and the message of what was caught.
func (e *exception) title() (name, description string) {
	first := e.items()[0]
	return exceptionText(first.Type), exceptionText(first.Value)
}

// fingerprint tells whether two exceptions are the same issue (decision 24): what
// the client says; else a hash of the types and of the file and function of the
// frames that are the application's own; else, without such frames, of the types
// and messages.
func (e *exception) fingerprint() string {
	if custom := exceptionText(e.Fingerprint); custom != "" {
		if utf8.RuneCountInString(custom) <= maxFingerprint {
			return custom
		}
		return fingerprintHash([]string{custom})
	}
	items := e.items()
	framed, parts, messages := false, make([]string, 0, 8), make([]string, 0, 8)
	for i := range items {
		typeName := exceptionText(items[i].Type)
		parts, messages = append(parts, "type", typeName), append(messages, "type", typeName, "message", exceptionText(items[i].Value))
		for _, f := range items[i].frames() {
			if string(f.InApp) == "true" {
				framed = true
				parts = append(parts, "file", exceptionText(f.Filename), "function", exceptionText(f.Function))
			}
		}
	}
	if framed {
		return fingerprintHash(parts)
	}
	return fingerprintHash(messages)
}

func (i *exceptionItem) frames() []stackFrame {
	var trace struct {
		Frames []stackFrame `json:"frames"`
	}
	_ = json.Unmarshal(i.Stacktrace, &trace) // a stack of another form has no frames
	return trace.Frames
}

// exceptionText is a JSON value as text: a number as it stands, empty for other values.
func exceptionText(raw json.RawMessage) string {
	var text string
	switch management.JSONKind(raw) {
	case "str":
		_ = json.Unmarshal(raw, &text) // it is a text of what has been read
	case "int", "float":
		text = string(raw)
	}
	return text
}

// fingerprintHash is a hash of texts, in hexadecimal. Where one ends and the next begins
// counts.
func fingerprintHash(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(management.Encode(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
