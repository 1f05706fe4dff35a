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

// fileProject is a project of a definitions file with its records as they are
// written there.
type fileProject struct {
	flags.FileProject
	settings       string // JSON, as projects.settings keeps it
	flags, cohorts []fileRecord
}

// fileRecord is a flag or a cohort.
type fileRecord struct {
	id        int64
	key, text string
	// members are those of a static cohort; unlisted: the file does not say.
	members  map[string]bool
	unlisted bool
}

// settingNames are the members of a project that are kept as its settings.
var settingNames = []string{
	"timezone", "bucketing_hash", "property_matching_version", "minimal_flag_called_events",
	"static_cohorts", "empty_cohorts", "behavioral_cohorts",
}

// readRecords pairs the projects that flags has read with their text.
func splitProjects(f flags.File, raw []byte) ([]fileProject, error) {
	// As flags reads it: without the mark at the beginning, and with U+FFFD for
	// what is no UTF-8, which PostgreSQL refuses.
	raw = bytes.ToValidUTF8(bytes.TrimPrefix(raw, []byte("\ufeff")), []byte("\ufffd"))
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	texts := []map[string]json.RawMessage{root} // a bare payload
	if list, ok := root["projects"]; ok {
		texts = nil
		if err := json.Unmarshal(list, &texts); err != nil {
			return nil, fmt.Errorf("projects: %w", err)
		}
	}
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

func (p *fileProject) readRecords(text map[string]json.RawMessage) error {
	settings := map[string]json.RawMessage{}
	for _, name := range settingNames {
		if v, ok := text[name]; ok {
			settings[name] = v
		}
	}
	encoded, err := json.Marshal(settings) // sorted and without white space
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

// readFlags gives a record without an id of its own a negative one, so that it
// can be kept, and fails alone when it is read (decision 4).
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
			// Members have a table, where all ids of a person are members with one.
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

// cohortTexts reads cohorts by id, or as a list of records with ids.
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
			id, err := strconv.ParseFloat(header.ID.String(), 64) // 3.0 is a whole number, too
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

// unmarshal reads text; absent is empty.
func unmarshal(text json.RawMessage, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

func compactJSON(text json.RawMessage) (string, error) {
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.String(), err
}

// cleanText is text as PostgreSQL takes it.
func cleanText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}
