package sqlquery

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// eventColumns are the columns of EventsQuery that are more than a field. Columns about persons are
// encoded when all rows are known, so that only the persons of these rows are read.
var eventColumns = map[string]filter.Field{
	"*":                   filter.NewField(hogql.ObjectType, eventObject),
	"person":              filter.NewField(hogql.ObjectType, eventPerson),
	"person_display_name": filter.NewField(hogql.ObjectType, eventPerson),
}

// eventObject returns the event as a JSON object, the column *.
func eventObject(b *scan.Binder) filter.CellOf {
	b.AllProperties()
	b.Needs.Columns |= port.UUIDs | port.Names | port.DistinctIDs | port.Elements | port.CreatedAt | port.Modes
	// at returns a time in the format of responses.
	at := func(micros int64) string { return instantText(b.Run, time.UnixMicro(micros)) }
	return func(r *scan.Row) hogql.Value {
		out := append(make([]byte, 0, len(r.Batch.Properties[r.Index])+400), `{"uuid":"`+r.Batch.UUID[r.Index].String()+`","event":`...)
		out = wire.AppendQuoted(out, r.Batch.Name[r.Index])
		out = append(out, `,"properties":`+hogql.Compact(r.Batch.Properties[r.Index])+`,"timestamp":"`+at(r.Batch.Time[r.Index])+`","team_id":`...)
		out = append(strconv.AppendInt(out, b.Project.ID, 10), `,"distinct_id":`...)
		out = wire.AppendQuoted(out, r.Batch.DistinctID[r.Index])
		out = wire.AppendQuoted(append(out, `,"elements_chain":`...), r.Batch.Elements[r.Index])
		// The member elements is present only if there is a chain.
		if chain := r.Batch.Elements[r.Index]; chain != "" {
			out = append(append(out, `,"elements":`...), elementsJSON(chain)...)
		}
		return hogql.ObjectOf(string(append(out, `,"created_at":"`+at(r.Batch.CreatedAt[r.Index])+`","person_mode":"`+r.Batch.Mode[r.Index].String()+`"}`...)))
	}
}

// instantText returns an instant in the project's time zone, in the format of responses.
func instantText(r *scan.Run, t time.Time) string {
	return t.In(r.Zone).Format("2006-01-02T15:04:05.999999Z07:00")
}

// owner identifies the person of an event: it is the value of the columns person and
// person_display_name until encode replaces it.
type owner struct {
	UUID       string `json:"uuid"`
	DistinctID string `json:"distinct_id"`
}

// eventPerson returns the owner of an event as a JSON object.
func eventPerson(b *scan.Binder) filter.CellOf {
	b.Needs.Columns |= port.DistinctIDs
	person := filter.PersonText(b)
	return func(r *scan.Row) hogql.Value {
		return hogql.ObjectOf(string(wire.MustEncode(owner{person(r).Text(), r.Batch.DistinctID[r.Index]})))
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
	for i, e := range filter.ParseChain(chain) {
		s := elementView{Tag: e.Tag, Classes: e.Classes, Attributes: map[string]string{}, Order: i}
		// Attributes that have a member of their own are not repeated in attributes.
		for name, value := range e.Attributes {
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
