package history

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Person is a stored person in responses (§5.3).
type Person struct {
	ID           int64            `json:"id"`
	Name         string           `json:"name"`
	DistinctIDs  []string         `json:"distinct_ids"`
	Properties   capture.Object   `json:"properties"`
	CreatedAt    management.Stamp `json:"created_at"`
	UUID         capture.UUID     `json:"uuid"`
	IsIdentified bool             `json:"is_identified"`
}

// ShowPerson returns a person as responses have it.
func ShowPerson(p *capture.StoredPerson) Person {
	out := Person{
		ID: p.ID, Name: p.Name(), DistinctIDs: p.BestIDs(), Properties: p.Properties, CreatedAt: management.Stamp{Time: p.CreatedAt},
		UUID: p.UUID, IsIdentified: p.Identified,
	}
	if out.Properties == nil {
		out.Properties = capture.Object{}
	}
	return out
}

// personPage is a page of persons. Count is present if it was requested and can be computed.
type personPage struct {
	Count    *int64   `json:"count,omitempty"`
	Next     *string  `json:"next"`
	Previous *string  `json:"previous"`
	Results  []Person `json:"results"`
}

// maxWalks is the maximum number of chunks of frame.DefaultPage persons that one request skips for its
// offset. The next link continues from there.
const maxWalks = 100

// listPersons lists persons, newest first (§5.3). A search reads at most capture.SearchScan
// persons per page. Therefore a page may have fewer results than its limit, or no results, and
// still a next link.
func (rd *Reader) listPersons(c *frame.Call) (any, error) {
	params := c.Query()
	p := frame.RangeOf(params)
	q, err := rd.personQuery(c, params)
	if err != nil {
		return nil, err
	}
	out := personPage{Results: []Person{}}
	if params.Get("distinct_id") != "" {
		return rd.onePerson(c, q, params.Get("distinct_id"), out)
	}
	if q.After, err = frame.IDCursor(p.Cursor); err != nil {
		return nil, err
	}
	found, next, skip, err := rd.walk(c.Ctx, c.Project(), q, p)
	if err != nil {
		return nil, err
	}
	for i := range found {
		out.Results = append(out.Results, ShowPerson(&found[i]))
	}
	if next != 0 {
		change := p.Parameters(skip)
		change["cursor"] = strconv.FormatInt(next, 10)
		out.Next = c.Link(change)
	}
	if p.Cursor == "" {
		out.Previous = c.Previous(p)
	}
	if params.Has("include_total") && q.Search == "" && q.Match == nil {
		n, err := rd.History.CountPeople(c.Ctx, c.Project())
		if err != nil {
			return nil, err
		}
		out.Count = &n
	}
	return out, nil
}

// onePerson returns a page with the person of a distinct id, if the filters match.
func (rd *Reader) onePerson(c *frame.Call, q capture.PersonQuery, id string, out personPage) (any, error) {
	if q.Search != "" {
		return nil, problem.Invalid("search", "search and distinct_id cannot be used together.")
	}
	found, err := rd.History.PersonForDistinctID(c.Ctx, c.Project(), id)
	if err != nil {
		return nil, err
	}
	if found != nil && (q.Match == nil || q.Match(found)) {
		out.Results = append(out.Results, ShowPerson(found))
	}
	if n := int64(len(out.Results)); c.Query().Has("include_total") {
		out.Count = &n
	}
	return out, nil
}

// walk skips the offset and reads a page in chunks, so that few large persons are in memory at a
// time. skip is the part of the offset that is left at the cursor next, if the request has
// reached maxWalks.
func (rd *Reader) walk(ctx context.Context, project int64, q capture.PersonQuery, p frame.Range) (page []capture.StoredPerson, next int64, skip int, err error) {
	skip = p.Offset
	read := func(n int) (piece []capture.StoredPerson, err error) {
		q.Limit = n
		piece, next, err = rd.History.People(ctx, project, q)
		q.After = next
		// after ctx has ended, filters match no person, so the results are incomplete
		return piece, cmp.Or(err, ctx.Err())
	}
	for walks := 0; skip > 0; walks++ {
		if walks == maxWalks {
			return nil, next, skip, nil
		}
		piece, err := read(min(skip, frame.DefaultPage))
		if err != nil || next == 0 {
			return nil, 0, 0, err
		}
		skip -= len(piece)
	}
	batch := pieces{limit: p.Limit}
	for n := batch.next(); n > 0; n = batch.next() {
		piece, err := read(n)
		if err != nil {
			return nil, 0, 0, err
		}
		page = append(page, piece...)
		if len(piece) < n || next == 0 {
			break
		}
		for i := range piece {
			batch.add(objectBytes(piece[i].Properties))
		}
	}
	return page, next, 0, nil
}

// objectBytes returns the approximate size of an object in bytes.
func objectBytes(o capture.Object) (n int) {
	for _, m := range o {
		n += len(m.Key) + len(m.Value)
	}
	return n
}

// personQuery parses the search, filters and cohort of a request.
func (rd *Reader) personQuery(c *frame.Call, params url.Values) (q capture.PersonQuery, err error) {
	q.Search = params.Get("search")
	filters, err := personFilters(params)
	if err != nil {
		return q, err
	}
	if filters != "" {
		if q.Match, err = personMatcher(c.Ctx, filters, c.Scope.Project.Settings, rd.now()); err != nil {
			return q, err
		}
	}
	if params.Has("cohort") {
		q.Match, err = rd.cohortMatcher(c, params.Get("cohort"), q.Match)
	}
	return q, err
}

// cohortMatcher matches the persons of a cohort. If also is not nil, it must match too. A cohort
// that does not exist matches no person.
func (rd *Reader) cohortMatcher(c *frame.Call, named string, also func(*capture.StoredPerson) bool) (func(*capture.StoredPerson) bool, error) {
	if rd.management.Cohorts == nil {
		return func(*capture.StoredPerson) bool { return false }, nil
	}
	member, err := rd.management.Cohorts.Membership(c.Ctx, c.Scope, named)
	if err != nil {
		return nil, err
	}
	return func(p *capture.StoredPerson) bool {
		if c.Ctx.Err() != nil || also != nil && !also(p) {
			return false
		}
		return member(FeaturePerson(p))
	}, nil
}

// Person finds a person by the uuid or number in a path. The result is nil if there is no such
// person.
func (rd *Reader) Person(ctx context.Context, project int64, named string) (*capture.StoredPerson, error) {
	if id, ok := wire.ParseUUID(named); ok {
		return rd.History.PersonByUUID(ctx, project, id)
	}
	if id, err := strconv.ParseInt(named, 10, 64); err == nil {
		return rd.History.PersonByID(ctx, project, id)
	}
	return nil, problem.Invalid("", "The ID provided does not look like a personID. If you are using a distinctId, please use /persons?distinct_id=%s instead.", problem.Shorten(named))
}

// NamedPerson returns the person of the path. If there is no such person, the error is
// problem.NotFound.
func (rd *Reader) NamedPerson(c *frame.Call) (*capture.StoredPerson, error) {
	p, err := rd.Person(c.Ctx, c.Project(), c.Part("person"))
	if err == nil && p == nil {
		err = &problem.NotFound
	}
	return p, err
}

func (rd *Reader) getPerson(c *frame.Call) (any, error) {
	p, err := rd.NamedPerson(c)
	if err != nil {
		return nil, err
	}
	return ShowPerson(p), nil
}

// deletePerson erases a person, and the person's events if delete_events is true.
func (rd *Reader) deletePerson(c *frame.Call) (any, error) {
	p, err := rd.NamedPerson(c)
	if err != nil {
		return nil, err
	}
	return nil, rd.erase(c, []capture.UUID{p.UUID}, frame.BoolParameter(c.Query(), "delete_events"))
}

// maxBulk is the maximum number of persons that one request may erase.
const maxBulk = 1000

type bulkDelete struct {
	IDs          []string `json:"ids"`
	DistinctIDs  []string `json:"distinct_ids"`
	DeleteEvents bool     `json:"delete_events"`
}

// bulkDeletePersons erases the persons with up to 1000 uuids or distinct ids. Ids without a
// person are ignored.
func (rd *Reader) bulkDeletePersons(c *frame.Call) (any, error) {
	var body bulkDelete
	if err := c.ReadJSONBody(&body); err != nil {
		return nil, err
	}
	switch {
	case len(body.IDs) > maxBulk:
		return nil, problem.Invalid("", "You can only pass 1000 ids in one call")
	case len(body.DistinctIDs) > maxBulk:
		return nil, problem.Invalid("", "You can only pass 1000 distinct_ids in one call")
	case body.IDs == nil && body.DistinctIDs == nil:
		return nil, problem.Invalid("", "You need to specify either distinct_ids or ids")
	case rd.people == nil:
		return nil, &problem.ReadOnly
	}
	var ids []capture.UUID
	for i, text := range body.IDs {
		id, ok := wire.ParseUUID(text)
		if !ok {
			return nil, problem.Invalid(fmt.Sprintf("ids__%d", i), "Must be a valid UUID.")
		}
		ids = append(ids, id)
	}
	for _, id := range body.DistinctIDs {
		p, err := rd.History.PersonForDistinctID(c.Ctx, c.Project(), id)
		if err != nil {
			return nil, err
		}
		if p != nil {
			ids = append(ids, p.UUID)
		}
	}
	return nil, rd.erase(c, ids, body.DeleteEvents || frame.BoolParameter(c.Query(), "delete_events"))
}
