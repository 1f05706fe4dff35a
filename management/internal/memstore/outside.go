package memstore

import (
	"maps"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// ExternalData is the data of other packages that a Tx can read. It must not change.
type ExternalData struct {
	GroupTypes map[int64]map[int]string // by project
	// Persons are the distinct ids of each person, by project.
	Persons   map[int64][][]string
	FlagCalls map[Flag][]management.FlagCall
	// Events are the names of events by project.
	Events map[int64][]string
	// FlagHours are the counts by project, flag, value and hour.
	FlagHours []FlagHour
	KeyUsage  []organizations.KeyUsage
	Usage     map[Resource][]organizations.DayUsage
}

// Flag identifies a flag of a project.
type Flag struct {
	Project int64
	Key     string
}

// FlagHour is a count of a project. Evaluations is as in HoursQuery.
type FlagHour struct {
	Project     int64
	Evaluations bool
	management.FlagHour
}

// Resource identifies a resource that an organization uses.
type Resource struct{ Organization, Resource string }

// GroupTypes implements rooms.Tx.
func (t *tx) GroupTypes(projectID int64) (map[int]string, error) {
	out := map[int]string{}
	maps.Copy(out, t.external.GroupTypes[projectID])
	return out, nil
}

// FlagCalls implements rooms.Tx.
func (t *tx) FlagCalls(projectID int64, key string) ([]management.FlagCall, error) {
	return slices.Clone(t.external.FlagCalls[Flag{projectID, key}]), nil
}

// LastCalls implements rooms.Tx.
func (t *tx) LastCalls(projectID int64) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	for called, calls := range t.external.FlagCalls {
		for _, c := range calls {
			if called.Project == projectID && c.Last.After(out[called.Key]) {
				out[called.Key] = c.Last
			}
		}
	}
	return out, nil
}

// UnseenEvents implements rooms.Tx.
func (t *tx) UnseenEvents(projectID int64, names []string) (unseen []string, _ error) {
	seen := t.external.Events[projectID]
	for _, name := range names {
		if len(seen) > 0 && !slices.Contains(seen, name) {
			unseen = append(unseen, name)
		}
	}
	return unseen, nil
}

// hours returns the counts of a query with any value.
func (t *tx) hours(q management.HoursQuery) []management.FlagHour {
	var out []management.FlagHour
	for _, h := range t.external.FlagHours {
		if h.Project == q.Project && h.Evaluations == q.Evaluations && slices.Contains(q.Keys, h.Flag) && !h.At.Before(q.From.Truncate(time.Hour)) && h.At.Before(q.To.Truncate(time.Hour)) {
			out = append(out, h.FlagHour)
		}
	}
	return out
}

// FlagTotals implements rooms.Tx.
func (t *tx) FlagTotals(q management.HoursQuery) (map[string]int64, error) {
	out := map[string]int64{}
	// The query is for one flag.
	q.Keys = q.Keys[:1]
	for _, h := range t.hours(q) {
		out[h.Value] += h.N
	}
	return out, nil
}

// FlagHours implements rooms.Tx.
func (t *tx) FlagHours(q management.HoursQuery) ([]management.FlagHour, error) {
	sums := map[management.FlagHour]int64{}
	for _, h := range t.hours(q) {
		// Without Values the counts of all values are added up.
		k := management.FlagHour{Flag: h.Flag, At: h.At}
		if q.Values != nil {
			if !slices.Contains(q.Values, h.Value) {
				continue
			}
			k.Value = h.Value
		}
		sums[k] += h.N
	}
	var out []management.FlagHour
	for h, n := range sums {
		h.N = n
		out = append(out, h)
	}
	return out, nil
}

// KeyUsage implements rooms.Tx.
func (t *tx) KeyUsage(projectID int64, since time.Time) ([]organizations.KeyUsage, error) {
	return slices.DeleteFunc(slices.Clone(t.external.KeyUsage), func(x organizations.KeyUsage) bool {
		return x.Project != projectID || before(x.Day, since)
	}), nil
}

// Usage implements rooms.Tx.
func (t *tx) Usage(organizationID, resource string, since time.Time) ([]organizations.DayUsage, error) {
	return slices.DeleteFunc(slices.Clone(t.external.Usage[Resource{organizationID, resource}]), func(x organizations.DayUsage) bool {
		return before(x.Day, since)
	}), nil
}

// before reports whether a UTC day is before the day of since.
func before(day, since time.Time) bool { return day.Before(since.UTC().Truncate(24 * time.Hour)) }
