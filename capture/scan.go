package capture

import "github.com/bunting-flags/bunting/flags/wire"

// maxMembers is the greatest number of members of an object of an event, about as many as fit
// into a million bytes. An event with more is dropped for its size.
const maxMembers = 200_000

// maxAIEvent is the greatest length of the JSON text of any event, in bytes.
var maxAIEvent = wire.MaxEventOf("$ai_span")

// scanner reads JSON text without creating values: it finds the beginning and end of each
// value, so that values can be stored unchanged. The text must be valid UTF-8.
type scanner struct {
	wire.Reader
	// limit is the position after which readMembers omits members; if it is 0, there is no
	// limit. If it is set, readMembers also returns at most maxMembers of an object.
	limit int
	// truncated reports whether readMembers has omitted members.
	truncated bool
}

func newScanner(src string) scanner {
	return scanner{Reader: wire.Reader{Src: src, Spans: true}}
}

// text returns the content of a JSON string. It returns false for any other value.
func text(value string) (string, bool) {
	if value == "" || value[0] != '"' {
		return "", false
	}
	return wire.Unquote(value), true
}
