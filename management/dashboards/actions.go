package dashboards

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindAction is the kind of the records of actions. Parent is the project and ID the number of the
// action. Unique is its name unless it is deleted, and Hidden means that it is deleted.
const kindAction = "action"

// Bounds of actions.
const (
	maxActionName = 400  // characters
	maxSlack      = 1200 // characters of slack_message_format
	maxSteps      = 100
	maxStepText   = 2000 // characters of a string in a step
)

// Actions manages actions. An action is a named list of steps, and an event matches the action if
// it matches at least one step (clients.md §5).
type Actions struct {
	*core
	resource.Resource[management.Tx, storedAction, action]
}

// actionFields are the writable fields of an action. post_to_slack and slack_message_format are
// stored and have no effect, because the server has no connection to Slack.
var actionFields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, MaxLength: maxActionName, Help: "unique among the actions that are not deleted"},
	{Name: "description", Type: management.Text, Blank: true},
	{Name: "tags", Type: management.TextList, MaxLength: maxDashboardTag, Blank: true, Help: "tags are trimmed, converted to lower case and deduplicated"},
	{Name: "post_to_slack", Type: management.Bool, Help: "stored, but nothing is sent"},
	{Name: "slack_message_format", Type: management.Text, Blank: true, MaxLength: maxSlack, Help: "stored, without effect"},
	{Name: "steps", Type: management.Array, Custom: true, Help: "list of objects; an event must match at least one of them"},
	{Name: "deleted", Type: management.Bool},
	{Name: "pinned_at", Type: management.Time, Null: true},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
}

// actionSettings are the fields of an action that are stored and returned unchanged.
type actionSettings struct {
	ID             int64             `json:"id"`
	Name           *string           `json:"name"`
	Description    string            `json:"description"`
	Tags           []string          `json:"tags"`
	PostToSlack    bool              `json:"post_to_slack"`
	SlackFormat    string            `json:"slack_message_format"`
	Steps          []json.RawMessage `json:"steps"`
	Deleted        bool              `json:"deleted"`
	PinnedAt       *management.Stamp `json:"pinned_at"`
	Created        management.Stamp  `json:"created_at"`
	LastCalculated management.Stamp  `json:"last_calculated_at"` // set when the action is created
}

// storedAction is the stored form of an action.
type storedAction struct {
	actionSettings
	Author int64 `json:"created_by"` // the user's number
}

// action is the form of an action in responses. IsAction is always true; IsCalculating,
// BytecodeError and CreationContext always have their zero values and exist for clients that expect
// them.
type action struct {
	actionSettings
	CreatedBy       *management.UserView   `json:"created_by"`
	TeamID          int64                  `json:"team_id"`
	IsAction        bool                   `json:"is_action"`
	IsCalculating   bool                   `json:"is_calculating"`
	BytecodeError   *string                `json:"bytecode_error"`
	CreationContext *string                `json:"creation_context"`
	UserAccessLevel management.AccessLevel `json:"user_access_level"`
}

// actionEdit is an operation that creates, changes or deletes an action.
type actionEdit = resource.Edit[management.Tx, storedAction]

// newActions returns the resource of actions: its records, and the rules of this file.
func newActions(c *core) (s Actions) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[management.Tx, storedAction, action]{
		Kind: kindAction, ActivityScope: "Action", Fields: actionFields, Object: (*storedAction).accessObject,
		Header: func(scope *management.Scope, a *storedAction) resource.RecordHeader {
			p := resource.RecordHeader{ID: strconv.FormatInt(a.ID, 10), Title: a.title(), Hidden: a.Deleted, Sort: a.sort()}
			// A deleted action does not reserve its name.
			if a.Name != nil && !a.Deleted {
				p.Unique = a.unique(scope)
			}
			return p
		},
		// Deleted actions are found too, so that they can be restored.
		Load: func(v *view, id string, _ *management.Body) (*storedAction, error) {
			return management.Found[storedAction](v.Tx.Get(kindAction, v.Parent(), strconv.FormatInt(dashboardNumber(id), 10)))
		},
		New: func(v *view) (*storedAction, error) {
			id, err := v.Tx.Next(kindAction)
			now := management.NewStamp(c.Env.Now())
			return &storedAction{Author: v.User.ID, actionSettings: actionSettings{ID: id, Created: now, LastCalculated: now, Tags: []string{}, Steps: []json.RawMessage{}}}, err
		},
		Rules: s.rules,
		Show: func(v *view, a *storedAction) (*action, error) {
			creator, err := v.Author(a.Author)
			return &action{actionSettings: a.actionSettings, CreatedBy: creator, TeamID: v.Project.ID, IsAction: true, UserAccessLevel: v.AccessTo(a.accessObject())}, err
		},
		Audit: func(a *storedAction) any { return a.actionSettings },
	})
	return s
}

// accessObject returns the action as access rules name it.
func (a *storedAction) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindAction, ID: strconv.FormatInt(a.ID, 10), Author: a.Author}
}

// title returns the name, or "" if the action has none.
func (a *storedAction) title() string { return plain.OrZero(a.Name) }

// unique returns the Record.Unique of the action: no other action of the project may have its name.
func (a *storedAction) unique(scope *management.Scope) string {
	return scope.Parent() + "/" + a.title()
}

// sort returns the Record.Sort: descending by the time of the last calculation, then by name.
func (a *storedAction) sort() string {
	return storage.SortNumber(1<<62-a.LastCalculated.UnixMicro()) + a.title()
}

// rules validates the steps, normalizes the tags, and returns an error if another action of the
// project has the name. A deleted action keeps its name without reserving it.
func (s Actions) rules(e *actionEdit) error {
	a := e.After
	a.Tags = lists.NormalizeTags(a.Tags)
	if raw := e.Values.Raw("steps"); e.Values.Has("steps") {
		steps, err := readSteps(raw)
		if err != nil {
			return err
		}
		a.Steps = steps
	}
	if a.Name == nil || a.Deleted {
		return nil
	}
	r, err := e.Tx.Find(kindAction, a.unique(e.Scope))
	if err != nil || r == nil || r.ID == strconv.FormatInt(a.ID, 10) {
		return err
	}
	return management.CodedFault(management.CodeUnique, "name", "This project already has an action with this name, ID %s", r.ID)
}

// stepTexts are the members of a step that are strings. stepMatchings are those that select how a
// string is compared, and matchings their allowed values.
var (
	stepTexts     = []string{"event", "selector", "tag_name", "text", "href", "url"}
	stepMatchings = []string{"text_matching", "href_matching", "url_matching"}
	matchings     = []string{"contains", "regex", "exact"}
)

// readSteps validates the form of steps (clients.md §5.2) and returns them as they were sent,
// including members that it does not check.
func readSteps(raw json.RawMessage) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, management.Fault("steps", "Expected a list of steps.")
	}
	if len(out) > maxSteps {
		return nil, management.Fault("steps", "An action may have at most %d steps.", maxSteps)
	}
	for i, step := range out {
		field := "steps__" + strconv.Itoa(i)
		members := management.JSONObject(step)
		if members == nil {
			return nil, management.Fault(field, "A step must be an object.")
		}
		for _, name := range slices.Concat(stepTexts, stepMatchings) {
			if err := checkStepText(field+"__"+name, members[name], slices.Contains(stepMatchings, name)); err != nil {
				return nil, err
			}
		}
		// The filters themselves are not validated here.
		if raw := members["properties"]; raw != nil && json.Unmarshal(raw, new([]json.RawMessage)) != nil {
			return nil, management.Fault(field+"__properties", "Expected a list of filters.")
		}
	}
	return out, nil
}

// checkStepText validates one string of a step, which may be absent or null. If matching is true,
// it must be one of matchings.
func checkStepText(field string, raw json.RawMessage, matching bool) error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	var text string
	switch {
	case json.Unmarshal(raw, &text) != nil:
		return management.Fault(field, "Not a valid string.")
	case len([]rune(text)) > maxStepText:
		return management.CodedFault(management.CodeMaxLength, field, "Ensure this field has no more than %d characters.", maxStepText)
	case matching && !slices.Contains(matchings, text):
		return management.Fault(field, "%q is not a valid choice.", text)
	}
	return nil
}

// reference is an object that uses an action.
type reference struct {
	Type string `json:"type"` // always insight
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// References returns the insights that use an action in their query. Deleted insights, and insights
// that the caller may not view, are omitted.
func (s Actions) References(ctx context.Context, scope *management.Scope, id string) ([]reference, error) {
	a, err := s.Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	return management.Read(ctx, &s.Env, func(tx management.Tx) ([]reference, error) {
		list, err := management.ListRecords[insightRecord](tx, management.Query{Kind: kindInsight, Parent: scope.Parent(), Match: func(r *management.Record) bool {
			i, err := management.Decode[insightRecord](r)
			return err == nil && !i.Deleted && scope.CanSee(i.accessObject()) && refersToAction(wire.Value(i.Query), a.ID)
		}})
		out := make([]reference, len(list.Results))
		for k, i := range list.Results {
			out[k] = reference{"insight", i.ID, i.title()}
		}
		return out, err
	})
}

// refersToAction reports whether v, a decoded query or a part of one, contains a node for the
// action.
func refersToAction(v any, id int64) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return refersToAction(x, id) })
	case map[string]any:
		if v["kind"] == "ActionsNode" && v["id"] == json.Number(strconv.FormatInt(id, 10)) {
			return true
		}
		for _, x := range v {
			if refersToAction(x, id) {
				return true
			}
		}
	}
	return false
}

// Each calls do for every action of a project that is not deleted. steps is a JSON array.
func (s Actions) Each(ctx context.Context, project int64, do func(id int64, name string, steps json.RawMessage)) error {
	list, err := management.Read(ctx, &s.Env, func(tx management.Tx) (management.List[storedAction], error) {
		return management.ListRecords[storedAction](tx, management.Query{Kind: kindAction, Parent: management.ProjectParent(project)})
	})
	for _, a := range list.Results {
		do(a.ID, a.title(), wire.MustEncode(a.Steps))
	}
	return err
}
