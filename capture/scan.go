package capture

import "github.com/bunting-flags/bunting/flags/wire"

// maxMembers is how many members an object of an event may have, about as many as fit
// into a million bytes: an event with more is dropped for its size.
const maxMembers = 200_000

// maxAIEvent is the longest JSON text of any event, in bytes.
var maxAIEvent = wire.MaxEventOf("$ai_span")

// scanner walks over one JSON text. It makes no values: it finds where they begin
// and end, so that what is stored is what was sent. The text has to be UTF-8.
type scanner struct {
	wire.Reader
	// limit is the position after which members keeps no more; 0: none. Where there is
	// one, members keeps at most maxMembers of an object.
	limit int
	// truncated: members has left some out.
	truncated bool
}

func newScanner(src string) scanner {
	return scanner{Reader: wire.Reader{Src: src, Spans: true}}
}

// text is the string that a JSON text holds; false for any other value.
func text(value string) (string, bool) {
	if value == "" || value[0] != '"' {
		return "", false
	}
	return wire.Unquote(value), true
}
