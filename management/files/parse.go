package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// File is a definitions file in the form in which it is stored. The zero File contains
// nothing.
type File struct {
	organization flags.Organization
	keys         []flags.PersonalKey // of the organization
	projects     []project
}

// project is a project of a file, with its records in the form of the file.
type project struct {
	flags.FileProject
	settings       string // JSON
	flags, cohorts []record
}

// record is a flag or a cohort of a file.
type record struct {
	// key is the key of a flag, and text the compact JSON of the record.
	id        int64
	key, text string
	// members are the distinct ids of a static cohort. unlisted is true for a static
	// cohort without a list of members in the file.
	members  []string
	unlisted bool
}

// settingNames are the members of a project object that are stored as its settings.
var settingNames = []string{
	"timezone", "bucketing_hash", "property_matching_version", "minimal_flag_called_events",
	"static_cohorts", "empty_cohorts", "behavioral_cohorts",
}

// errChanged is the error for a text that is not the one from which package flags has
// read the definitions.
var errChanged = errors.New("the file has changed while it was read")

// Parse pairs the projects that package flags has parsed with their JSON text raw.
func Parse(f flags.File, raw []byte) (*File, error) {
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
		return nil, fmt.Errorf("%w: %d projects, then %d", errChanged, len(f.Projects), len(texts))
	}
	out := &File{organization: f.Organization, keys: f.PersonalKeys, projects: make([]project, len(texts))}
	for i := range texts {
		p := &out.projects[i]
		p.FileProject = f.Projects[i]
		if strings.IndexByte(p.APIKey, 0) >= 0 {
			return nil, fmt.Errorf("projects[%d].api_key: must not hold U+0000", i)
		}
		if err := p.readRecords(texts[i]); err != nil {
			return nil, fmt.Errorf("project %q: %w", p.APIKey, err)
		}
	}
	return out, nil
}

// readRecords fills the settings, flags and cohorts of p from the members of its JSON
// object.
func (p *project) readRecords(text map[string]json.RawMessage) error {
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
func (p *project) readFlags(text json.RawMessage) error {
	var list []json.RawMessage
	if err := unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != len(p.Definitions.Flags) {
		return errChanged
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
		p.flags = append(p.flags, record{id: id, key: p.Definitions.Flags[i].Key, text: compact})
	}
	return nil
}

// readCohorts reads the cohorts, in the order of their ids. The members of static
// cohorts are removed from the records.
func (p *project) readCohorts(text json.RawMessage) error {
	byID, err := cohortTexts(text)
	if err != nil {
		return err
	}
	for id, text := range byID {
		c := p.Definitions.Cohorts[id]
		r := record{id: id, unlisted: c.Static && c.Members == nil}
		var object map[string]json.RawMessage
		if c.Static && json.Unmarshal(text, &object) == nil && object["members"] != nil {
			// Members are stored in a table, by which membership of one distinct id
			// applies to all ids of its person.
			delete(object, "members")
			if text, err = json.Marshal(object); err != nil {
				return err
			}
			r.members = c.Members
		}
		if r.text, err = compactJSON(text); err != nil {
			return err
		}
		p.cohorts = append(p.cohorts, r)
	}
	slices.SortFunc(p.cohorts, func(a, b record) int { return int(min(max(a.id-b.id, -1), 1)) })
	return nil
}
