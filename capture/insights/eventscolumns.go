package insights

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/flags/wire"
)

// eventColumns are the columns of EventsQuery that are more than a field. Columns about persons are
// encoded when all rows are known, so that only the persons of these rows are read.
var eventColumns = map[string]hogqlField{
	"*":                   simpleField(hogql.ObjectType, eventObject),
	"person":              simpleField(hogql.ObjectType, eventPerson),
	"person_display_name": simpleField(hogql.ObjectType, eventPerson),
}

// eventObject returns the event as a JSON object, the column *.
func eventObject(b *binder) cellOf {
	b.needs.columns |= UUIDs | Names | Properties | DistinctIDs | Elements | CreatedAt | Modes
	// at returns a time in the format of responses.
	at := func(micros int64) string { return instantText(b.run, time.UnixMicro(micros)) }
	return func(r *row) hogql.Value {
		out := append(make([]byte, 0, len(r.b.Properties[r.i])+400), `{"uuid":"`+r.b.UUID[r.i].String()+`","event":`...)
		out = wire.AppendQuoted(out, r.b.Name[r.i])
		out = append(out, `,"properties":`+hogql.Compact(r.b.Properties[r.i])+`,"timestamp":"`+at(r.b.Time[r.i])+`","team_id":`...)
		out = append(strconv.AppendInt(out, b.project.ID, 10), `,"distinct_id":`...)
		out = wire.AppendQuoted(out, r.b.DistinctID[r.i])
		out = wire.AppendQuoted(append(out, `,"elements_chain":`...), r.b.Elements[r.i])
		// The member elements is present only if there is a chain.
		if chain := r.b.Elements[r.i]; chain != "" {
			out = append(append(out, `,"elements":`...), elementsJSON(chain)...)
		}
		return hogql.ObjectOf(string(append(out, `,"created_at":"`+at(r.b.CreatedAt[r.i])+`","person_mode":"`+r.b.Mode[r.i].String()+`"}`...)))
	}
}

// instantText returns an instant in the project's time zone, in the format of responses.
func instantText(r *run, t time.Time) string {
	return t.In(r.zone).Format("2006-01-02T15:04:05.999999Z07:00")
}

// owner identifies the person of an event: it is the value of the columns person and
// person_display_name until encode replaces it.
type owner struct {
	UUID       string `json:"uuid"`
	DistinctID string `json:"distinct_id"`
}

// eventPerson returns the owner of an event as a JSON object.
func eventPerson(b *binder) cellOf {
	b.needs.columns |= DistinctIDs
	person := personText(b)
	return func(r *row) hogql.Value {
		return hogql.ObjectOf(string(wire.MustEncode(owner{person(r).Text(), r.b.DistinctID[r.i]})))
	}
}

// encode encodes the rows as JSON. It reads the current data of the persons in them and replaces
// each owner by it.
func (q *eventsQuery) encode(r *run, query *hogql.Query, found *hogql.Result) (json.RawMessage, error) {
	// show are the encoders of the columns about persons, by column.
	show := map[int]func(hogql.Value) (json.RawMessage, error){}
	var ids []capture.UUID
	// Find the persons in the rows.
	for i, s := range q.selects {
		name := s.item.Field()
		if name != "person" && name != "person_display_name" {
			continue
		}
		for _, row := range found.Rows {
			var o owner
			if json.Unmarshal([]byte(row[i].Text()), &o) == nil {
				id, _ := wire.ParseUUID(o.UUID)
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return encodeRows(r, query, found.Rows, nil)
	}
	slices.SortFunc(ids, func(a, b capture.UUID) int { return strings.Compare(string(a[:]), string(b[:])) }) // sorted for Compact
	people := map[string]*capture.StoredPerson{}
	err := r.reader.Profiles(r.ctx, slices.Compact(ids), func(p *capture.StoredPerson) error {
		stored := *p // the person is valid only during the call
		people[p.UUID.String()] = &stored
		return r.reserve(int64(len(p.Properties.String())) + 500)
	})
	if err != nil {
		return nil, err
	}
	// Replace the owners in the columns about persons.
	for i, s := range q.selects {
		switch s.item.Field() {
		case "person":
			show[i] = func(v hogql.Value) (json.RawMessage, error) { return personOf(r, v, people) }
		case "person_display_name":
			show[i] = func(v hogql.Value) (json.RawMessage, error) { return displayOf(r, v, people) }
		}
	}
	return encodeRows(r, query, found.Rows, show)
}

// personOf encodes an owner as the column person. A person that no longer exists has only the
// distinct id.
func personOf(r *run, v hogql.Value, people map[string]*capture.StoredPerson) (json.RawMessage, error) {
	var o owner
	if err := json.Unmarshal([]byte(v.Text()), &o); err != nil {
		return nil, err
	}
	p := people[o.UUID]
	if p == nil {
		return wire.Encode(map[string]string{"distinct_id": o.DistinctID})
	}
	return wire.Encode(map[string]any{"uuid": o.UUID, "created_at": instantText(r, p.CreatedAt), "properties": p.Properties, "distinct_id": o.DistinctID})
}

// displayOf encodes an owner as the column person_display_name.
func displayOf(r *run, v hogql.Value, people map[string]*capture.StoredPerson) (json.RawMessage, error) {
	var o owner
	if err := json.Unmarshal([]byte(v.Text()), &o); err != nil {
		return nil, err
	}
	// Without a display property, the distinct id of the event is the name.
	name := o.DistinctID
	if p := people[o.UUID]; p != nil {
		actor := actorRow{groupType: anyPeople, stored: p, display: displayNames(r.project)}
		if display := actor.displayProperty(); display != "" {
			name = display
		}
	}
	return wire.Encode(map[string]string{"display_name": name, "id": o.UUID, "distinct_id": o.DistinctID})
}

// elementView is an element of an elements chain in the format of responses.
type elementView struct {
	Text       *string           `json:"text"`
	Tag        string            `json:"tag_name"`
	Classes    []string          `json:"attr_class"`
	Href       *string           `json:"href"`
	ID         *string           `json:"attr_id"`
	NthChild   *int              `json:"nth_child"`
	NthOfType  *int              `json:"nth_of_type"`
	Attributes map[string]string `json:"attributes"`
	Order      int               `json:"order"`
}

// elementsJSON encodes an elements chain as a JSON list of its elements.
func elementsJSON(chain string) json.RawMessage {
	views := []elementView{}
	for i, e := range parseChain(chain) {
		s := elementView{Tag: e.tag, Classes: e.classes, Attributes: map[string]string{}, Order: i}
		// Attributes that have a member of their own are not repeated in attributes.
		for name, value := range e.attributes {
			number, err := strconv.Atoi(value)
			switch {
			case name == "text":
				s.Text = &value
			case name == "href":
				s.Href = &value
			case name == "attr_id":
				s.ID = &value
			case name == "nth-child" && err == nil:
				s.NthChild = &number
			case name == "nth-of-type" && err == nil:
				s.NthOfType = &number
			default:
				s.Attributes[name] = value
			}
		}
		views = append(views, s)
	}
	return wire.MustEncode(views)
}
