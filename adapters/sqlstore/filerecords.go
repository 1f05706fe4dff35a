package sqlstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

// fileProject is a project of a definitions file, with its records in the form of the
// file.
type fileProject struct {
	flags.FileProject
	settings       string // JSON for the column projects.settings
	flags, cohorts []fileRecord
}

// fileRecord is a flag or a cohort of a definitions file.
type fileRecord struct {
	// key is the key of a flag, and text the compact JSON of the record.
	id        int64
	key, text string
	// members are the stored distinct ids of a static cohort. unlisted is true for a
	// static cohort without a list of members in the file.
	members  map[string]bool
	unlisted bool
}

// settingNames are the members of a project object that are stored as its settings.
var settingNames = []string{
	"timezone", "bucketing_hash", "property_matching_version", "minimal_flag_called_events",
	"static_cohorts", "empty_cohorts", "behavioral_cohorts",
}

// splitProjects pairs the projects that package flags has parsed with their JSON text.
func splitProjects(f flags.File, raw []byte) ([]fileProject, error) {
	// Normalize as package flags does: without a byte order mark, and with U+FFFD for
	// invalid UTF-8, which PostgreSQL does not accept.
	raw = bytes.ToValidUTF8(bytes.TrimPrefix(raw, []byte("\ufeff")), []byte("\ufffd"))
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	texts := []map[string]json.RawMessage{root} // the file is one project
	if list, ok := root["projects"]; ok {
		texts = nil
		if err := json.Unmarshal(list, &texts); err != nil {
			return nil, fmt.Errorf("projects: %w", err)
		}
	}
	// The file is parsed twice, here and by package flags, and may be replaced in
	// between.
	if len(texts) != len(f.Projects) {
		return nil, fmt.Errorf("the file has changed while it was read: %d projects, then %d", len(f.Projects), len(texts))
	}
	out := make([]fileProject, len(texts))
	for i := range texts {
		p := &out[i]
		p.FileProject = f.Projects[i]
		if strings.IndexByte(p.APIKey, 0) >= 0 {
			return nil, fmt.Errorf("projects[%d].api_key: must not hold U+0000", i)
		}
		p.Name = cleanText(p.Name)
		if err := p.readRecords(texts[i]); err != nil {
			return nil, fmt.Errorf("project %q: %w", p.APIKey, err)
		}
	}
	return out, nil
}

// readRecords fills the settings, flags and cohorts of p from the members of its JSON
// object.
func (p *fileProject) readRecords(text map[string]json.RawMessage) error {
	settings := map[string]json.RawMessage{}
	for _, name := range settingNames {
		if v, ok := text[name]; ok {
			settings[name] = v
		}
	}
	encoded, err := json.Marshal(settings) // members sorted, without white space
	if err != nil {
		return err
	}
	p.settings = string(encoded)
	if err := p.readFlags(text["flags"]); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	if err := p.readCohorts(text["cohorts"]); err != nil {
		return fmt.Errorf("cohorts: %w", err)
	}
	return nil
}

// readFlags reads the flags. A flag without a valid id of its own gets a negative one,
// so that it can be stored. Parsing the definitions later reports the error for this
// flag only (decision 4).
func (p *fileProject) readFlags(text json.RawMessage) error {
	var list []json.RawMessage
	if err := unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != len(p.Definitions.Flags) {
		return errors.New("the file has changed while it was read")
	}
	used := map[int64]bool{}
	for i := range list {
		id := p.Definitions.Flags[i].ID
		if id <= 0 || used[id] {
			id = -1 - int64(i)
		}
		used[id] = true
		compact, err := compactJSON(list[i])
		if err != nil {
			return err
		}
		p.flags = append(p.flags, fileRecord{id: id, key: cleanText(p.Definitions.Flags[i].Key), text: compact})
	}
	return nil
}

// readCohorts reads the cohorts, in the order of their ids. The members of static
// cohorts are removed from the records.
func (p *fileProject) readCohorts(text json.RawMessage) error {
	byID, err := cohortTexts(text)
	if err != nil {
		return err
	}
	for id, record := range byID {
		c := p.Definitions.Cohorts[id]
		r := fileRecord{id: id, unlisted: c.Static && c.Members == nil}
		var object map[string]json.RawMessage
		if c.Static && json.Unmarshal(record, &object) == nil && object["members"] != nil {
			// Members are stored in a table, by which membership of one distinct id
			// applies to all ids of its person.
			delete(object, "members")
			if record, err = json.Marshal(object); err != nil {
				return err
			}
			r.members = make(map[string]bool, len(c.Members))
			for _, member := range c.Members {
				r.members[capture.StoredDistinctID(member)] = true
			}
		}
		if r.text, err = compactJSON(record); err != nil {
			return err
		}
		p.cohorts = append(p.cohorts, r)
	}
	slices.SortFunc(p.cohorts, func(a, b fileRecord) int { return int(min(max(a.id-b.id, -1), 1)) })
	return nil
}

// cohortTexts returns the cohorts by id. The file has an object by id, or a list of
// objects with ids.
func cohortTexts(text json.RawMessage) (map[int64]json.RawMessage, error) {
	out := map[int64]json.RawMessage{}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		for _, record := range list {
			var header struct {
				ID json.Number `json:"id"`
			}
			if err := json.Unmarshal(record, &header); err != nil {
				return nil, err
			}
			id, err := strconv.ParseFloat(header.ID.String(), 64) // JSON numbers such as 3.0 are integers too
			if err != nil {
				return nil, err
			}
			if integer, err := strconv.ParseInt(header.ID.String(), 10, 64); err == nil {
				out[integer] = record
			} else {
				out[int64(id)] = record
			}
		}
		return out, nil
	}
	var object map[string]json.RawMessage
	if err := unmarshal(text, &object); err != nil {
		return nil, err
	}
	for name, record := range object {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil, err
		}
		if _, exists := out[id]; exists {
			return nil, fmt.Errorf("%d stands there twice", id)
		}
		out[id] = record
	}
	return out, nil
}

// unmarshal is like json.Unmarshal and does nothing if text is nil.
func unmarshal(text json.RawMessage, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

// compactJSON returns a JSON text without insignificant white space.
func compactJSON(text json.RawMessage) (string, error) {
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.String(), err
}

// cleanText returns s in a form that PostgreSQL accepts: with U+FFFD for U+0000 and for
// invalid UTF-8.
func cleanText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}
