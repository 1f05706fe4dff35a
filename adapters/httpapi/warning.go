package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// headerWarning names what was in a request and has had no effect, a line each
// (decision 30): list parameters and members of a body that nobody knows. Warning
// itself is obsolete (RFC 9111).
const headerWarning = "Bunting-Warning"

const (
	// maxWarnings is how many lines an answer may have; the last of them says that
	// there is more.
	maxWarnings = 10
	// maxWarningBytes is how long a line may be; a longer one is cut.
	maxWarningBytes = 256
	moreWarnings    = "there is more that had no effect"
)

// warn adds a line to the warnings of an answer, before its status is written. A
// line that is there already is not repeated; what no header may hold is escaped.
func warn(w http.ResponseWriter, text string) {
	h := w.Header()
	text = headerText(text)
	switch lines := h[headerWarning]; {
	case slices.Contains(lines, text):
	case len(lines) < maxWarnings:
		h[headerWarning] = append(lines, text)
	default:
		lines[maxWarnings-1] = moreWarnings
	}
}

// headerText is a text in printable ASCII, cut to maxWarningBytes.
func headerText(text string) string {
	var b strings.Builder
	for _, r := range text {
		piece := string(r)
		if r < ' ' || r > '~' {
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(piece) > maxWarningBytes-len("...") {
			b.WriteString("...")
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}
