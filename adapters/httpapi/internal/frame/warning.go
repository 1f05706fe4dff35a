package frame

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// headerWarning is the header with the parts of a request that have no effect, one per line
// (decision 30): for example unknown list parameters and unknown members of a body. The standard
// header Warning is obsolete (RFC 9111).
const headerWarning = "Bunting-Warning"

const (
	// maxWarnings is the maximum number of lines in a response. If there are more, the last line
	// is moreWarnings.
	maxWarnings = 10
	// maxWarningBytes is the maximum length of a line. Longer lines are truncated.
	maxWarningBytes = 256
	moreWarnings    = "there is more that had no effect"
)

// Warn adds a line to the warnings of a response. It must be called before the status is written.
// Duplicate lines are omitted, and characters that are not allowed in headers are escaped.
func Warn(w http.ResponseWriter, text string) {
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

// headerText converts a text to printable ASCII of at most maxWarningBytes.
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
