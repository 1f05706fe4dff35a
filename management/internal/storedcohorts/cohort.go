package storedcohorts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Kind is the kind of cohorts in access rules.
const Kind = "cohort"

// ActivityScope is the scope of cohorts in the activity log.
const ActivityScope = "Cohort"

// Cohort is the stored form of a cohort.
type Cohort struct {
	Record
	Meta
	// Origin is the definitions file that contains the cohort, empty if it is not from a file.
	Origin string
}

// Record is the part of a cohort that /flags reads.
type Record struct {
	ID          int64           `json:"id"`
	Team        int64           `json:"team_id"`
	Name        *string         `json:"name"`
	Description string          `json:"description"`
	Deleted     bool            `json:"deleted"`
	Static      bool            `json:"is_static"`
	Filters     json.RawMessage `json:"filters"`
	Groups      json.RawMessage `json:"groups"`
	Query       json.RawMessage `json:"query"`
	Type        *string         `json:"cohort_type"`
}

// Meta is the part of a cohort that /flags does not read.
type Meta struct {
	CreatedAt       management.Stamp `json:"created_at,omitzero"`
	CreatedBy       int64            `json:"created_by,omitempty"`
	LastCalculation management.Stamp `json:"last_calculation,omitzero"`
	Errors          int              `json:"errors_calculating,omitempty"`
	Count           *int             `json:"count,omitempty"`
}

// Fields are the writable fields of a cohort.
var Fields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: 1000},
	{Name: "groups", Type: management.Array, Custom: true, Help: "oldest form of filters"},
	{Name: "deleted", Type: management.Bool, Help: "true deletes the cohort, false restores it"},
	{Name: "filters", Type: management.Object, Null: true, Help: "object with properties: a tree of person, cohort and behavioral filters"},
	{Name: "query", Type: management.Object, Null: true, Help: "query of a static cohort; it is stored but never run"},
	{Name: "is_static", Type: management.Bool},
	{Name: "cohort_type", Type: management.Choice, Null: true, Choices: cohortTypes, Custom: true, Help: "type of the cohort; derived from its contents"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
	{Name: "_create_static_person_ids", Type: management.TextList, Custom: true, Help: "uuids of the initial members of a new static cohort"},
}

// cohortTypes are the values of cohort_type (spec/flags.md §1.6).
var cohortTypes = []string{"static", "person_property", "behavioral", "realtime", "analytical"}

// Realtime is the type of cohorts that another system computes. It is the only type that cannot
// be derived from the contents of a cohort.
const Realtime = "realtime"

// Decode decodes a stored cohort. Records from definitions files may have any shape; their
// unreadable members are ignored.
func Decode(d *management.Definition) (*Cohort, error) {
	c := &Cohort{Origin: d.Origin}
	if err := json.Unmarshal(d.Record, &c.Record); err != nil && d.Origin == "" {
		return nil, fmt.Errorf("the stored cohort %d is invalid: %w", d.ID, err)
	}
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &c.Meta); err != nil {
			return nil, fmt.Errorf("the stored cohort %d is invalid: %w", d.ID, err)
		}
	}
	// Files may mark static cohorts by their type only.
	c.Static = c.Static || c.Type != nil && *c.Type == "static"
	// In a file, the record may be the tree of filters itself.
	if bare := management.JSONObject(d.Record); bare["values"] != nil {
		c.Filters = storage.Encode(map[string]json.RawMessage{"properties": d.Record})
	}
	c.ID, c.Deleted = d.ID, d.Deleted
	return c, nil
}

// Assign applies the values of a request to the cohort. Filters in the oldest format (groups) are
// converted, unless the request also contains filters in the current format.
func (c *Cohort) Assign(v management.Values) {
	resource.Apply(Fields, v, c)
	if v.Has("filters") || v.Has("groups") {
		c.Type = nil // derived from the new filters
	}
	if groups := definitions.List(wire.Value(v.Raw("groups"))); len(groups) > 0 && management.EmptyJSON(v.Raw("filters")) && !c.Static {
		c.Filters = wire.MustEncode(map[string]any{"properties": legacyTree(groups)})
	}
	// Only one of the two formats is stored.
	if v.Has("groups") || !management.EmptyJSON(c.Filters) {
		c.Groups = nil
	}
}

// Put stores a cohort and, if it is counted periodically, schedules an immediate count. Callers
// that count the cohort themselves replace that schedule afterwards.
func (c *Cohort) Put(tx definitions.Tx, scope *management.Scope) error {
	if err := c.Store(tx, scope); err != nil || !c.IsCountedPeriodically() {
		return err
	}
	return ScheduleCount(tx, scope.Project.ID, c.ID, time.Unix(0, 0))
}

// Store is like put but does not schedule a count.
func (c *Cohort) Store(tx definitions.Tx, scope *management.Scope) error {
	c.Team = scope.Project.ID
	c.Type = c.kind()
	for ok := false; !ok; { // a new cohort is stored twice: the record contains the id, which the store assigns
		ok = c.ID != 0
		d := &management.Definition{ID: c.ID, Record: storage.Encode(c.Record), Meta: storage.Encode(c.Meta), Deleted: c.Deleted}
		if err := definitions.Put(tx, management.CohortDefinition, scope.Project.ID, d); err != nil {
			return err
		}
		c.ID = d.ID
	}
	return nil
}

// kind returns the value of cohort_type, derived from the cohort's contents. It returns nil for a
// dynamic cohort without filters.
func (c *Cohort) kind() *string {
	kind := "person_property"
	switch {
	case !management.EmptyJSON(c.Query):
		kind = "analytical"
	case c.Static:
		kind = "static"
	case c.Type != nil && *c.Type == Realtime:
		kind = Realtime
	case PartsOf(c.Filters).Behavioral || PartsOf(c.Groups).Behavioral:
		kind = "behavioral"
	case management.EmptyJSON(c.Filters) && management.EmptyJSON(c.Groups):
		return nil
	}
	return &kind
}

// Title returns the name of the cohort, or "" if it has no name.
func (c *Cohort) Title() string {
	if c.Name == nil {
		return ""
	}
	return *c.Name
}

// AccessObject identifies the cohort for access rules.
func (c *Cohort) AccessObject() management.AccessObject {
	return management.AccessObject{Kind: Kind, ID: c.ItemID(), Author: c.CreatedBy}
}

// ItemID returns the cohort's id as used in URLs and in the activity log.
func (c *Cohort) ItemID() string { return strconv.FormatInt(c.ID, 10) }

// MaxLiveCount is the size up to which a static cohort is counted on each read. Larger static
// cohorts are counted in the background, like dynamic ones.
const MaxLiveCount = 100_000

// IsCountedPeriodically reports whether the cohort is counted periodically in the background.
func (c *Cohort) IsCountedPeriodically() bool {
	return !c.Deleted && (!c.Static || c.Count != nil && *c.Count > MaxLiveCount)
}

// KindCountDue is the kind of records that schedule the next count of a cohort. ID is the
// Parent of the cohort's calculations and Sort the time. Static cohorts that are counted on each
// read have no such record.
const KindCountDue = "cohort_count_due"

// CountDue is the data of such a record. If Cohorts is not empty, as after applying a large
// document, the record stands for one record of each of these cohorts, and it is replaced by them
// when it is due.
type CountDue struct {
	Project int64   `json:"project"`
	Cohort  int64   `json:"cohort"`
	Cohorts []int64 `json:"cohorts,omitempty"`

	ID string `json:"-"` // of the record
}

// Parent returns the Parent of the records that belong to a cohort.
func Parent(project, cohort int64) string {
	return fmt.Sprintf("%s/cohort:%d", management.ProjectParent(project), cohort)
}

// ScheduleCount schedules a count of a cohort, and replaces an earlier schedule.
func ScheduleCount(tx definitions.Tx, project, cohort int64, at time.Time) error {
	return tx.Put(&management.Record{
		Kind: KindCountDue, ID: Parent(project, cohort), Sort: storage.SortTime(at), Data: storage.Encode(CountDue{Project: project, Cohort: cohort}),
	})
}
