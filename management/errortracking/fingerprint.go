package errortracking

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// maxFingerprint is the greatest length of a client's fingerprint, in characters. A longer one is
// replaced by a hash.
const maxFingerprint = 200

// exception has the properties of an event that error tracking uses (spec/capture.md §12.6).
type exception struct {
	Fingerprint json.RawMessage `json:"$exception_fingerprint"`
	List        []exceptionItem `json:"$exception_list"`
	// Type and Message are sent by old SDKs, which send no list.
	Type    json.RawMessage `json:"$exception_type"`
	Message json.RawMessage `json:"$exception_message"`
}

// exceptionItem is an exception of the list. The first one is the exception that was caught, and
// the following ones are its causes.
type exceptionItem struct {
	Type       json.RawMessage `json:"type"`
	Value      json.RawMessage `json:"value"`
	Stacktrace json.RawMessage `json:"stacktrace"`
}

// stackFrame is a frame of a stack trace. InApp is true for frames of the application itself.
type stackFrame struct {
	InApp    json.RawMessage `json:"in_app"`
	Filename json.RawMessage `json:"filename"`
	Function json.RawMessage `json:"function"`
}

// readException reads the properties of an event. A member with an unexpected type counts as
// absent.
func readException(properties string) *exception {
	e := &exception{}
	_ = json.Unmarshal([]byte(properties), e) // the decoder reports a wrong type at the end, and reads the other members
	return e
}

// items returns the exceptions of the list, or the one of an old SDK.
func (e *exception) items() []exceptionItem {
	if len(e.List) > 0 {
		return e.List
	}
	return []exceptionItem{{Type: e.Type, Value: e.Message}}
}

// title returns the type and the message of the exception that was caught.
func (e *exception) title() (name, description string) {
	first := e.items()[0]
	return exceptionText(first.Type), exceptionText(first.Value)
}

// fingerprint returns the string that two exceptions have in common if they belong to the same
// issue (decision 24). It is the client's own fingerprint if there is one. Otherwise it is a hash
// of the types and of the file and the function of each frame of the application, or without such
// frames a hash of the types and messages.
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

// frames returns the frames of the stack trace.
func (i *exceptionItem) frames() []stackFrame {
	var trace struct {
		Frames []stackFrame `json:"frames"`
	}
	_ = json.Unmarshal(i.Stacktrace, &trace) // a stack trace of another form has no frames
	return trace.Frames
}

// exceptionText returns a JSON string or number as a string, and "" for other values.
func exceptionText(raw json.RawMessage) string {
	var text string
	switch management.JSONKind(raw) {
	case "str":
		_ = json.Unmarshal(raw, &text) // raw is a valid string
	case "int", "float":
		text = string(raw)
	}
	return text
}

// fingerprintHash returns a hash of strings, in hexadecimal. It depends on where each string ends.
func fingerprintHash(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(storage.Encode(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
