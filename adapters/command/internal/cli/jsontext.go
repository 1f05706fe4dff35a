package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Indent encodes a value as JSON that people read: indented by two spaces, without the escapes for
// HTML, with a line break at the end.
func Indent(v any) (string, error) {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return out.String(), nil
}

// NextText returns the offset of the next token of a JSON document, at or after from, that is
// neither a comma nor a colon.
func NextText(data []byte, from int64) int64 {
	for from < int64(len(data)) && strings.IndexByte(" \t\r\n,:", data[from]) >= 0 {
		from++
	}
	return from
}

// Position formats an offset in a document as line and column, both from 1.
func Position(data []byte, offset int64) string {
	before := data[:min(offset, int64(len(data)))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	return fmt.Sprintf("line %d column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// JSONError returns an error with the position of a syntax error in a document. err is the error of
// the decoder. The position is computed again with Unmarshal, because a decoder's errors count
// offsets in two ways.
func JSONError(path string, data []byte, err error) error {
	var syntax *json.SyntaxError
	var v any
	switch found := json.Unmarshal(data, &v); {
	case len(bytes.TrimSpace(data)) == 0:
		return fmt.Errorf("%s: the document is empty", path)
	case errors.As(found, &syntax) && syntax.Offset < int64(len(data)):
		return fmt.Errorf("%s: %s: %s", path, Position(data, syntax.Offset-1), strings.TrimPrefix(syntax.Error(), "json: "))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %s: the document ends in the middle", path, Position(data, int64(len(data))))
	}
	return fmt.Errorf("%s: %w", path, err)
}
