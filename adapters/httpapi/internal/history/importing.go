package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// maxImport is the maximum size of the body of an import in bytes, both before and after
	// unpacking. maxImportLines is the maximum number of its lines. Larger imports must be split
	// into several requests.
	maxImport      = 20 << 20
	maxImportLines = 10_000
	// maxLineErrors is the maximum number of errors listed in a response. Further errors are only
	// counted.
	maxLineErrors = 100
)

// imported is the response to an import.
type imported struct {
	Imported int         `json:"imported"`
	Failed   int         `json:"failed"`
	Errors   []lineError `json:"errors"`
}

type lineError struct {
	Line   int    `json:"line"` // counted from 1
	Detail string `json:"detail"`
}

// importLine is one line of an export: a person or a group.
type importLine struct {
	Type string `json:"type"`

	UUID         string          `json:"uuid"`
	DistinctIDs  []string        `json:"distinct_ids"`
	IsIdentified bool            `json:"is_identified"`
	Properties   json.RawMessage `json:"properties"`
	CreatedAt    string          `json:"created_at"`

	GroupType       string          `json:"group_type"`
	GroupKey        string          `json:"group_key"`
	GroupProperties json.RawMessage `json:"group_properties"`
}

// importLines imports persons and groups from the JSON lines of an export, plain or compressed with
// gzip. Persons retain their UUIDs (decision 26). An invalid line does not prevent the import of
// the others. If the store fails, the lines after the current one are not imported; it is safe to
// send all lines once more.
func (rd *Reader) importLines(c *frame.Call) (any, error) {
	if rd.people == nil {
		return nil, &problem.ReadOnly
	}
	raw, err := c.Lease.ReadRaw(maxImport)
	if err == nil && unpack.IsGzip(raw) {
		raw, err = unpack.Gunzip(c.Lease, raw, maxImport)
	}
	if err != nil {
		return nil, err
	}
	text := unpack.AsText(raw)
	if lines := strings.Count(text, "\n"); lines > maxImportLines {
		return nil, problem.Invalid("", "The body has %d lines, at most %d are allowed in one request.", lines, maxImportLines)
	}
	out := imported{Errors: []lineError{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		err := rd.importOne(c, line)
		var refusal *capture.Refusal
		switch {
		case err == nil:
			out.Imported++
		case errors.As(err, &refusal):
			if out.Failed++; out.Failed <= maxLineErrors {
				out.Errors = append(out.Errors, lineError{number, refusal.Detail})
			}
		default:
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return out, nil
}

func refuseLine(format string, args ...any) error {
	return &capture.Refusal{Kind: capture.Invalid, Code: "invalid_input", Detail: fmt.Sprintf(format, args...)}
}

// importOne parses and imports one line. The error for an invalid line is a *capture.Refusal.
func (rd *Reader) importOne(c *frame.Call, line string) error {
	var record importLine
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		return refuseLine("not a line of an export: %s", err)
	}
	var created time.Time
	if record.CreatedAt != "" {
		createdAt, err := time.Parse(time.RFC3339, record.CreatedAt)
		if err != nil {
			return refuseLine("created_at: must be a time such as 2026-01-31T12:00:00Z")
		}
		created = createdAt.UTC().Truncate(time.Microsecond)
	} else {
		created = rd.now().UTC().Truncate(time.Microsecond)
	}
	switch record.Type {
	case "person":
		id, ok := wire.ParseUUID(record.UUID)
		if !ok {
			return refuseLine("uuid: Must be a valid UUID.")
		}
		if len(record.DistinctIDs) == 0 {
			return refuseLine("distinct_ids: must have at least one id")
		}
		properties, err := importedObject("properties", record.Properties)
		if err != nil {
			return err
		}
		return rd.people.Import(c.Ctx, c.Project(), capture.StoredPerson{
			Person:      capture.Person{UUID: id, CreatedAt: created, Properties: properties, Identified: record.IsIdentified},
			DistinctIDs: record.DistinctIDs,
		})
	case "group":
		if record.GroupType == "" {
			return refuseLine("group_type: must be the name of a group type")
		}
		properties, err := importedObject("group_properties", record.GroupProperties)
		if err != nil {
			return err
		}
		return rd.people.ImportGroup(c.Ctx, c.Project(), record.GroupType, capture.Group{
			GroupID: capture.GroupID{Key: record.GroupKey}, CreatedAt: created, Properties: properties,
		})
	}
	return refuseLine("type: must be person or group, not %q; events go to /batch/", problem.Shorten(record.Type))
}

func importedObject(name string, raw json.RawMessage) (capture.Object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return capture.Object{}, nil
	}
	o, err := capture.ParseObject(string(raw))
	if err != nil {
		return nil, refuseLine("%s: %s", name, err)
	}
	return o, nil
}
