package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// bom is the byte order mark that some editors write at the start of a file.
var bom = []byte("\ufeff")

// DecodeJSON decodes one JSON document in the way that definitions are read: numbers become
// json.Number, and text after the document is an error. Syntax errors are a
// *[DefinitionError] whose Path is the line and column.
func DecodeJSON(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, bom)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	if err == nil {
		end := dec.InputOffset()
		if rest := bytes.TrimLeft(data[end:], " \t\r\n"); len(rest) > 0 {
			return nil, &DefinitionError{Path: position(data, int64(len(data)-len(rest)+1)), Problem: "text after the end of the JSON document"}
		}
		return v, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, &DefinitionError{Path: position(data, syntax.Offset), Problem: strings.TrimPrefix(syntax.Error(), "json: ")}
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &DefinitionError{Path: position(data, 0), Problem: "the document is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &DefinitionError{Path: position(data, int64(len(data))), Problem: "the document ends in the middle"}
	}
	return nil, err
}

// position returns the line and column of a byte offset, both counted from 1.
func position(data []byte, offset int64) string {
	offset = min(offset, int64(len(data)))
	before := data[:offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := int(offset) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d column %d", line, max(column, 1))
}
