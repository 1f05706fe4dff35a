package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// person is a stored person as it is shown (§5.3).
type person struct {
	ID           int64          `json:"id"`
	Name         string         `json:"name"`
	DistinctIDs  []string       `json:"distinct_ids"`
	Properties   capture.Object `json:"properties"`
	CreatedAt    stamp          `json:"created_at"`
	UUID         capture.UUID   `json:"uuid"`
	IsIdentified bool           `json:"is_identified"`
}

// nameProperties may hold a person's name; the first that does counts.
var nameProperties = []string{"email", "Email", "$email", "name", "Name", "username", "Username", "UserName"}

func showPerson(p *capture.StoredPerson) person {
	out := person{
		ID: p.ID, DistinctIDs: bestFirst(p.DistinctIDs), Properties: p.Properties, CreatedAt: stamp(p.CreatedAt),
		UUID: p.UUID, IsIdentified: p.Identified,
	}
	if out.Properties == nil {
		out.Properties = capture.Object{}
	}
	for _, name := range nameProperties {
		if value, ok := p.Properties.Get(name); ok {
			if out.Name = nameOf(value); out.Name != "" {
				return out
			}
		}
	}
	if len(out.DistinctIDs) > 0 {
		out.Name = out.DistinctIDs[0]
	}
	return out
}

// nameOf is a property as a name: a text, or a number; empty for other values.
func nameOf(value string) string {
	var v any
	if json.Unmarshal([]byte(value), &v) != nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return value
	}
	return ""
}

// bestFirst puts the ids that people have chosen before those that SDKs made up.
func bestFirst(ids []string) []string {
	out := append([]string{}, ids...)
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

func rank(id string) int {
	if anonymous(id) {
		return 1
	}
	return 0
}

// anonymous reports whether an id looks like one of an SDK: five words of digits
// and small letters, with hyphens between them.
func anonymous(id string) bool {
	words, length := 1, 0
	for i := range len(id) {
		switch c := id[i]; {
		case c == '-' && length > 0:
			words, length = words+1, 0
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			length++
		default:
			return false
		}
	}
	return words == 5 && length > 0
}

// personPage is a page of persons; their number stands in it when it is asked
// for and known.
type personPage struct {
	Count    *int64   `json:"count,omitempty"`
	Next     *string  `json:"next"`
	Previous *string  `json:"previous"`
	Results  []person `json:"results"`
}

// maxWalks is how many pieces of defaultPage persons one request may step over for its
// offset; the next link goes on from there.
const maxWalks = 100

// listPersons answers with persons, newest first (§5.3). A search looks at
// capture.SearchScan of them for one page, which may hold less than its limit, or
// nothing, and still have a next link.
func listPersons(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	params := r.URL.Query()
	p := pageOf(params)
	q, err := rd.personQuery(r, params)
	if err != nil {
		return err
	}
	out := personPage{Results: []person{}}
	if params.Get("distinct_id") != "" {
		return rd.onePerson(w, r, project, q, params.Get("distinct_id"), out)
	}
	if q.After, err = idCursor(p.cursor); err != nil {
		return err
	}
	found, next, left, err := rd.walk(r.Context(), project, q, p)
	if err != nil {
		return err
	}
	for i := range found {
		out.Results = append(out.Results, showPerson(&found[i]))
	}
	if next != 0 {
		change := p.parameters(left)
		change["cursor"] = strconv.FormatInt(next, 10)
		out.Next = rd.link(r, change)
	}
	if p.cursor == "" {
		out.Previous = rd.previous(r, p)
	}
	if params.Has("include_total") && q.Search == "" && q.Match == nil {
		n, err := rd.history.CountPeople(r.Context(), project)
		if err != nil {
			return err
		}
		out.Count = &n
	}
	return rd.reply(w, http.StatusOK, out)
}

// onePerson answers with the person of a distinct id, if the filters let it pass.
func (rd *reader) onePerson(w http.ResponseWriter, r *http.Request, project int64, q capture.PersonQuery, id string, out personPage) error {
	if q.Search != "" {
		return invalid("search", "search and distinct_id cannot be used together.")
	}
	found, err := rd.history.PersonBy(r.Context(), project, id)
	if err != nil {
		return err
	}
	if found != nil && (q.Match == nil || q.Match(found)) {
		out.Results = append(out.Results, showPerson(found))
	}
	if n := int64(len(out.Results)); r.URL.Query().Has("include_total") {
		out.Count = &n
	}
	return rd.reply(w, http.StatusOK, out)
}

// walk steps over the offset and reads a page, a piece at a time so that few
// large persons are in memory at once. left is what of the offset is still to be
// stepped over at next.
func (rd *reader) walk(ctx context.Context, project int64, q capture.PersonQuery, p page) (page []capture.StoredPerson, next int64, left int, err error) {
	left = p.offset
	read := func(n int) (piece []capture.StoredPerson, err error) {
		q.Limit = n
		piece, next, err = rd.history.People(ctx, project, q)
		q.After = next
		// A match that was given up is none.
		return piece, cmp.Or(err, ctx.Err())
	}
	for walks := 0; left > 0; walks++ {
		if walks == maxWalks {
			return nil, next, left, nil
		}
		piece, err := read(min(left, defaultPage))
		if err != nil || next == 0 {
			return nil, 0, 0, err
		}
		left -= len(piece)
	}
	n, size, largest := firstPiece, 0, 1
	for len(page) < p.limit && size < pageBytes {
		n = min(n, p.limit-len(page))
		piece, err := read(n)
		if err != nil {
			return nil, 0, 0, err
		}
		page = append(page, piece...)
		if len(piece) < n || next == 0 {
			break
		}
		for i := range piece {
			bytes := objectBytes(piece[i].Properties)
			size, largest = size+bytes, max(largest, bytes)
		}
		n = max((pageBytes-size)/largest, 1)
	}
	return page, next, 0, nil
}

// objectBytes is about how long an object is.
func objectBytes(o capture.Object) (n int) {
	for _, m := range o {
		n += len(m.Key) + len(m.Value)
	}
	return n
}

// personQuery reads which persons are asked for.
func (rd *reader) personQuery(r *http.Request, params url.Values) (q capture.PersonQuery, err error) {
	q.Search = params.Get("search")
	filters, err := personFilters(params)
	if err != nil {
		return q, err
	}
	if filters != "" {
		if q.Match, err = personMatcher(r.Context(), filters, rd.Decider.Now()); err != nil {
			return q, err
		}
	}
	if params.Has("cohort") {
		q.Match, err = rd.cohortMatcher(r, params.Get("cohort"), q.Match)
	}
	return q, err
}

// cohortMatcher matches the persons of a cohort that another matcher, if there is
// one, matches too. What names no cohort has nobody in it.
func (rd *reader) cohortMatcher(r *http.Request, named string, also func(*capture.StoredPerson) bool) (func(*capture.StoredPerson) bool, error) {
	l := listed(r)
	if rd.Management == nil {
		return nil, invalid("cohort", "'cohort' is not supported here yet.")
	}
	member, err := rd.Management.Cohorts.Membership(r.Context(), l.standing, named)
	if err != nil {
		return nil, managementProblem(err)
	}
	return func(p *capture.StoredPerson) bool {
		if r.Context().Err() != nil || also != nil && !also(p) {
			return false
		}
		return member(&management.Person{
			UUID: p.UUID.String(), DistinctIDs: p.DistinctIDs, Properties: decodeProperties(p.Properties, nil), CreatedAt: p.CreatedAt,
		})
	}, nil
}

// person finds a person by what stands in a path: a uuid or a number. Nil: there
// is none.
func (rd *reader) person(ctx context.Context, project int64, named string) (*capture.StoredPerson, error) {
	if id, ok := capture.ParseUUID(named); ok {
		return rd.history.PersonByUUID(ctx, project, id)
	}
	if id, err := strconv.ParseInt(named, 10, 64); err == nil {
		return rd.history.PersonByID(ctx, project, id)
	}
	return nil, invalid("", "The ID provided does not look like a personID. If you are using a distinctId, please use /persons?distinct_id=%s instead.", shorten(named))
}

func (rd *reader) namedPerson(r *http.Request, project int64) (*capture.StoredPerson, error) {
	p, err := rd.person(r.Context(), project, parameter(r, "person"))
	if err == nil && p == nil {
		err = &problemNotFound
	}
	return p, err
}

func getPerson(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	if err != nil {
		return err
	}
	return rd.reply(w, http.StatusOK, showPerson(p))
}

// deletePerson erases a person, with that person's events if delete_events says
// so.
func deletePerson(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	if err != nil {
		return err
	}
	if rd.people == nil {
		return &problemReadOnly
	}
	if _, err := rd.people.ErasePerson(r.Context(), project, p.UUID, boolParameter(r.URL.Query(), "delete_events")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// maxBulk is how many persons one call may erase, maxSmallBody how long its body
// may be, in bytes: the ids, at their longest and escaped.
const maxBulk, maxSmallBody = 1000, 4 << 20

type bulkDelete struct {
	IDs          []string `json:"ids"`
	DistinctIDs  []string `json:"distinct_ids"`
	DeleteEvents bool     `json:"delete_events"`
}

// bulkDeletePersons erases the persons of up to 1000 uuids or distinct ids.
// Those that are not there are no error.
func bulkDeletePersons(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	var body bulkDelete
	if err := rd.readJSON(w, r, &body); err != nil {
		return err
	}
	switch {
	case len(body.IDs) > maxBulk:
		return invalid("", "You can only pass 1000 ids in one call")
	case len(body.DistinctIDs) > maxBulk:
		return invalid("", "You can only pass 1000 distinct_ids in one call")
	case body.IDs == nil && body.DistinctIDs == nil:
		return invalid("", "You need to specify either distinct_ids or ids")
	case rd.people == nil:
		return &problemReadOnly
	}
	var ids []capture.UUID
	for i, text := range body.IDs {
		id, ok := capture.ParseUUID(text)
		if !ok {
			return invalid(fmt.Sprintf("ids__%d", i), "Must be a valid UUID.")
		}
		ids = append(ids, id)
	}
	for _, id := range body.DistinctIDs {
		p, err := rd.history.PersonBy(r.Context(), project, id)
		if err != nil {
			return err
		}
		if p != nil {
			ids = append(ids, p.UUID)
		}
	}
	withEvents := body.DeleteEvents || boolParameter(r.URL.Query(), "delete_events")
	for _, id := range ids {
		if _, err := rd.people.ErasePerson(r.Context(), project, id, withEvents); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
