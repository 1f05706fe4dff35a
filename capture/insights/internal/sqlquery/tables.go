package sqlquery

import (
	"errors"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// hogqlScope returns the scope of a table: events, persons or groups.
func hogqlScope(p *port.Project, table string) *hogql.Scope {
	switch table {
	case "persons":
		s := filter.TableScope(filter.PersonTableFields, "id", "created_at", "properties", "is_identified", "distinct_ids")
		s.Cohort = filter.CohortResolver(p, "id")
		return s
	case "groups":
		return filter.TableScope(filter.GroupTableFields, "index", "key", "created_at", "properties")
	}
	return filter.EventScope(p, nil)
}

// scanPersons adds all persons to a query.
func scanPersons(b *scan.Binder, q *hogql.Query, scope *hogql.Scope, filters func(*capture.StoredPerson) bool) error {
	// Bind the cohorts that the query refers to.
	cohorts := map[string]func(*capture.StoredPerson) bool{}
	for _, f := range scope.Fields() {
		if id, err := strconv.ParseInt(f.Cohort, 10, 64); err == nil {
			cohorts[f.Cohort] = filter.InCohort(b, id)
		}
	}
	fill := filter.TableRow(scope, filter.PersonTableFields, func(f hogql.Field, p *capture.StoredPerson) bool {
		if f.Filters {
			return filters(p)
		}
		return cohorts[f.Cohort](p)
	})
	b.ReadProfiles(func(p *capture.StoredPerson) error {
		r := fill(p)
		// The time and the id order rows that compare equal.
		r.Time, r.ID = p.CreatedAt.UnixMicro(), p.ID
		return errors.Join(q.Add(r), b.Context.Err())
	})
	return b.Err
}

// scanGroups adds all groups of all types to a query.
func scanGroups(b *scan.Binder, q *hogql.Query, scope *hogql.Scope, filters func(*capture.Group) bool) error {
	fill := filter.TableRow(scope, filter.GroupTableFields, func(_ hogql.Field, g *capture.Group) bool { return filters(g) })
	for groupType := range scan.MaxGroupTypes {
		n := int64(0)
		err := b.Reader.Groups(b.Context, groupType, nil, func(g *capture.Group) error {
			r := fill(g)
			n++
			// Groups have no id: a number by type and position orders rows with equal values.
			r.Time, r.ID = g.CreatedAt.UnixMicro(), int64(groupType)<<48+n
			return errors.Join(q.Add(r), b.Context.Err())
		})
		if err != nil {
			return err
		}
	}
	return b.Err
}
