package insights

import (
	"encoding/json"
	"strconv"
	"time"

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
