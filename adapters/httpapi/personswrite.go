package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

var problemEventQuota = problem{Status: 402, Type: "server_error", Code: "payment_required", Detail: "You have exceeded your event quota."}

// fieldMissing is what calls about persons answer when a field is not there: code
// and detail have changed places (§2.3).
func fieldMissing(field string) *problem {
	p := problem{Status: 400, Type: "validation_error", Code: "This field is required.", Detail: "required"}
	return p.with("", field)
}

// serverEvent is an event that a call of the management API amounts to.
type serverEvent struct {
	APIKey     string                     `json:"api_key"`
	Event      string                     `json:"event"`
	DistinctID string                     `json:"distinct_id"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// sendEvent has the intake take an event in, so that what it changes follows the
// rules that all events do. It is not located: the caller is not whom it is about.
func (rd *reader) sendEvent(r *http.Request, name, distinctID string, properties map[string]json.RawMessage) error {
	if rd.Intake == nil {
		return &problemReadOnly
	}
	key, _ := r.Context().Value(projectKey{}).(string)
	properties["$geoip_disable"] = json.RawMessage("true")
	text, err := encode(serverEvent{key, name, distinctID, properties})
	if err != nil {
		return err
	}
	submission, err := capture.Decode(string(text), capture.DecodeOptions{})
	if err != nil {
		return err
	}
	receipt, err := rd.Intake.Accept(r.Context(), submission, capture.Origin{ReceivedAt: rd.Decider.Now()})
	if err != nil {
		return err
	}
	for _, reason := range receipt.Results {
		switch {
		case reason.OverQuota():
			return &problemEventQuota
		case reason != capture.None:
			return invalid("", "The change was not taken: %s.", reason)
		}
	}
	return nil
}

// sendPersonEvent sends an event of a person, under the id that is shown first.
func (rd *reader) sendPersonEvent(r *http.Request, p *capture.StoredPerson, name string, properties map[string]json.RawMessage) error {
	ids := bestFirst(p.DistinctIDs)
	if len(ids) == 0 {
		return invalid("", "The person has no distinct id.")
	}
	return rd.sendEvent(r, name, ids[0], properties)
}

// readMembers reads a body that is a JSON object; nothing is an empty one.
func (rd *reader) readMembers(w http.ResponseWriter, r *http.Request) (map[string]json.RawMessage, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, nil
	}
	var body map[string]json.RawMessage
	return body, rd.readJSON(w, r, &body)
}

// textIn reads a member that has to be a text with something in it.
func textIn(body map[string]json.RawMessage, name string) (string, error) {
	raw, there := body[name]
	var text string
	switch {
	case !there:
		return "", problemRequired.with("", name)
	case json.Unmarshal(raw, &text) != nil:
		return "", invalid(name, "Not a valid string.")
	case text == "":
		p := problem{Status: 400, Type: "validation_error", Code: "blank", Detail: "This field may not be blank."}
		return "", p.with("", name)
	}
	return text, nil
}

// isObject reports whether a JSON text is an object.
func isObject(raw json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{")
}

func missingValue(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// notADict refuses a member that should be an object.
func notADict(name string) error {
	p := problem{Status: 400, Type: "validation_error", Code: "not_a_dict"}
	return p.with("", name).say("Expected a dictionary of items.")
}

// patchPerson merges properties into those of a person, as a $set event does
// (§5.3). It never takes any away.
func patchPerson(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	if err != nil {
		return err
	}
	body, err := rd.readMembers(w, r)
	switch {
	case err != nil:
		return err
	case missingValue(body["properties"]):
		return fieldMissing("properties")
	case !isObject(body["properties"]):
		return notADict("properties")
	}
	return rd.changePerson(w, r, p, body["properties"])
}

func (rd *reader) changePerson(w http.ResponseWriter, r *http.Request, p *capture.StoredPerson, set json.RawMessage) error {
	if err := rd.sendPersonEvent(r, p, "$set", map[string]json.RawMessage{"$set": set}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// updatePersonProperty sets one property of a person.
func updatePersonProperty(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	if err != nil {
		return err
	}
	body, err := rd.readMembers(w, r)
	if err != nil {
		return err
	}
	for _, name := range []string{"value", "key"} {
		if _, there := body[name]; !there {
			return fieldMissing(name)
		}
	}
	key, err := textIn(body, "key")
	if err != nil {
		return err
	}
	set, err := encode(map[string]json.RawMessage{key: body["value"]})
	if err != nil {
		return err
	}
	return rd.changePerson(w, r, p, set)
}

// done is the body of calls that say no more.
var done = json.RawMessage(`{"success":true}`)

// deletePersonProperty takes one property of a person away.
func deletePersonProperty(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	if err != nil {
		return err
	}
	body, err := rd.readMembers(w, r)
	if err != nil {
		return err
	}
	key, err := textIn(body, "$unset")
	if err != nil {
		return err
	}
	unset, err := encode([]string{key})
	if err != nil {
		return err
	}
	if err := rd.sendPersonEvent(r, p, "$delete_person_property", map[string]json.RawMessage{"$unset": unset}); err != nil {
		return err
	}
	return rd.reply(w, http.StatusCreated, done)
}

// deletePersonEvents erases the events of a person, who stays.
func deletePersonEvents(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	switch {
	case err != nil:
		return err
	case rd.people == nil:
		return &problemReadOnly
	}
	if err := rd.people.EraseEvents(r.Context(), project, p.UUID); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// splitPerson gives the distinct ids of a person, at most capture.MaxShownIDs at a
// time, persons of their own; main_distinct_id keeps the person, or the id that is
// shown first.
func splitPerson(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p, err := rd.namedPerson(r, project)
	if err != nil {
		return err
	}
	body, err := rd.readMembers(w, r)
	if err != nil {
		return err
	}
	ids, main := bestFirst(p.DistinctIDs), ""
	if !missingValue(body["main_distinct_id"]) {
		if main, err = textIn(body, "main_distinct_id"); err != nil {
			return err
		}
		if !slices.Contains(ids, main) {
			ids = append(ids, main) // of more than can be shown
		}
	}
	if rd.people == nil {
		return &problemReadOnly
	}
	found, err := rd.people.SplitPerson(r.Context(), project, p.UUID, ids, main)
	switch {
	case err != nil:
		return err
	case !found:
		return invalid("main_distinct_id", "The person has no such distinct id.")
	}
	return rd.reply(w, http.StatusCreated, done)
}

// maxValues is how many values one answer has.
const maxValues = 20

type personValue struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// personValues answers with the values that a property of persons has most often,
// only those that contain value, in any case, when it is given. It looks at the
// newest capture.SearchScan persons.
func personValues(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	key, part := r.URL.Query().Get("key"), strings.ToLower(r.URL.Query().Get("value"))
	if key == "" {
		return problemRequired.with("", "key")
	}
	counts := map[string]int{}
	q := capture.PersonQuery{Limit: 1, Match: func(p *capture.StoredPerson) bool {
		if raw, ok := p.Properties.Get(key); ok && raw != "null" {
			name := raw
			var text string
			if json.Unmarshal([]byte(raw), &text) == nil {
				name = text
			}
			if strings.Contains(strings.ToLower(name), part) {
				counts[name]++
			}
		}
		return false // they are only counted
	}}
	if _, _, err := rd.history.People(r.Context(), project, q); err != nil {
		return err
	}
	out := make([]personValue, 0, len(counts))
	for name, n := range counts {
		out = append(out, personValue{name, n})
	}
	slices.SortFunc(out, func(a, b personValue) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name)) })
	return rd.reply(w, http.StatusOK, out[:min(len(out), maxValues)])
}
