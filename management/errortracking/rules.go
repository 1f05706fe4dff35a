package errortracking

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Config has the dependencies of a Service. Only Env is required.
type Config struct {
	Env management.Env[management.Tx]
	// Events is the log from which exceptions are read. If nil, no issues are created.
	Events EventLog
}

// Service manages the assignment rules (§4.2) and the issues (decision 24) of all projects. It may
// be used concurrently. New creates one.
type Service struct {
	Config
	rules  resource.Resource[management.Tx, storedRule, assignmentRule]
	issues resource.Resource[management.Tx, storedIssue, Issue]
}

// New returns a Service.
func New(c Config) *Service { return &Service{c, c.ruleResource(), c.issueResource()} }

// kindRule is the kind of the records of assignment rules. Parent is the project, Sort the order
// key and then the number.
const kindRule = "assignment_rule"

// maxRules is the greatest number of assignment rules of a project.
const maxRules = 1000

// view is a transaction with the scope of the caller.
type view = resource.View[management.Tx]

// inProject returns the view of a project for operations without a user.
func inProject(tx management.Tx, project int64) *view {
	return &view{Tx: tx, Scope: &management.Scope{Project: &management.ProjectRecord{ID: project}}}
}

// assignmentRule assigns the issues that its filters match.
type assignmentRule struct {
	ID string `json:"id"`
	// Filters is the property group as it was sent (compileRule).
	Filters json.RawMessage `json:"filters"`
	// Assignee is the user or role to which issues are assigned. If nil, a matching issue remains
	// unassigned.
	Assignee *assignee `json:"assignee"`
	// OrderKey orders the rules, in ascending order. Rules with the same key are in the order of
	// their creation.
	OrderKey int64 `json:"order_key"`
	// Disabled is nil while the rule is enabled.
	Disabled *ruleFailure `json:"disabled_data"`
}

// ruleFailure is the reason why a rule is disabled: the error, and the issue and the properties of
// the event for which it occurred.
type ruleFailure struct {
	Message string          `json:"message"`
	Issue   json.RawMessage `json:"issue"`
	Props   json.RawMessage `json:"props"`
}

// storedRule is the stored form of a rule.
type storedRule struct {
	assignmentRule
	// Number is a sequence number.
	Number int64 `json:"number"`
}

// ruleFields are the writable fields of a rule.
var ruleFields = management.Fields{
	{Name: "filters", Type: management.Object, Required: true, Custom: true, Help: "a property group with filters of type event, feature, person and error_tracking_issue"},
	{Name: "assignee", Type: management.Any, Null: true, Custom: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null if unassigned`},
}

// ruleOrderFields are the fields of ReorderRules.
var ruleOrderFields = management.Fields{
	{Name: "orders", Type: management.Object, Required: true, Help: "object with the new order_key of each rule, by rule id"},
}

// ruleKeys is the greatest absolute value of an order_key.
const ruleKeys = math.MaxInt32

// ruleResource returns the resource of rules.
func (c *Config) ruleResource() resource.Resource[management.Tx, storedRule, assignmentRule] {
	return resource.NewResource(&c.Env, resource.Spec[management.Tx, storedRule, assignmentRule]{
		Kind: kindRule, ActivityScope: "ErrorTrackingAssignmentRule", Fields: ruleFields,
		Header: func(_ *management.Scope, r *storedRule) resource.RecordHeader {
			// The keys are shifted so that negative ones are sorted correctly as strings.
			return resource.RecordHeader{ID: r.ID, Sort: storage.SortNumber(r.OrderKey+ruleKeys) + "/" + storage.SortNumber(r.Number)}
		},
		New: func(*view) (*storedRule, error) {
			return &storedRule{assignmentRule: assignmentRule{ID: c.Env.NewID()}}, nil
		},
		// A rule has no name: it is called by whom it assigns issues to.
		Title: func(v *view, r *storedRule) (string, error) { return r.Assignee.name(v) },
		Rules: setRule,
		Show:  func(_ *view, r *storedRule) (*assignmentRule, error) { return &r.assignmentRule, nil },
	})
}

// setRule applies and validates the values of a body. New filters enable a rule that was disabled
// (§7). A new rule has the order_key 0 and is the last one with that key.
func setRule(e *resource.Edit[management.Tx, storedRule]) (err error) {
	r, v := e.After, e.Values
	if v.Has("filters") {
		r.Filters, r.Disabled = v.Raw("filters"), nil
		if _, err := compileRule(r.Filters, e.Project.FilterSettings()); err != nil {
			return err
		}
	}
	if v.Has("assignee") {
		if r.Assignee, err = readAssignee(e.Tx, e.Scope, v.Raw("assignee")); err != nil {
			return err
		}
	}
	if !e.IsNew {
		return nil
	}
	_, rules, err := e.Tx.List(management.Query{Kind: kindRule, Parent: e.Parent(), Limit: 1})
	if err != nil {
		return err
	}
	if rules >= maxRules {
		return management.Fault("", "A project can have at most %d assignment rules.", maxRules)
	}
	r.Number, err = e.Tx.Next(kindRule)
	return err
}

// Rules returns a page of rules in their order.
func (s Service) Rules(ctx context.Context, scope *management.Scope, p management.Page) (management.List[assignmentRule], error) {
	return s.rules.List(ctx, scope, p)
}

// Rule returns one rule.
func (s Service) Rule(ctx context.Context, scope *management.Scope, id string) (*assignmentRule, error) {
	return s.rules.Get(ctx, scope, id)
}

// CreateRule creates a rule.
func (s Service) CreateRule(ctx context.Context, scope *management.Scope, b management.Body) (*assignmentRule, error) {
	return s.rules.Create(ctx, scope, b)
}

// UpdateRule changes the filters or the assignee of a rule. If put is true, the filters must be
// present.
func (s Service) UpdateRule(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) error {
	_, err := s.rules.Update(ctx, scope, id, b, put)
	return err
}

// DeleteRule deletes a rule.
func (s Service) DeleteRule(ctx context.Context, scope *management.Scope, id string) error {
	return s.rules.Delete(ctx, scope, id)
}

// ReorderRules sets the order_key of rules. Unknown ids are ignored.
func (s Service) ReorderRules(ctx context.Context, scope *management.Scope, b management.Body) error {
	v, err := ruleOrderFields.Create(b)
	if err != nil {
		return err
	}
	var orders map[string]json.RawMessage
	if err := json.Unmarshal(v.Raw("orders"), &orders); err != nil {
		return management.Fault("orders", "Expected a dictionary of whole numbers.")
	}
	if len(orders) > management.MaxItems {
		return management.CodedFault(management.CodeMaxLength, "orders", "Ensure this field has no more than %d elements.", management.MaxItems)
	}
	return s.Env.Store.Write(ctx, func(tx management.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(orders)) {
			field := management.Field{Name: "orders__" + id, Type: management.Int, MinValue: -ruleKeys, MaxValue: ruleKeys}
			key, err := field.Read(orders[id])
			if err != nil {
				return err
			}
			uuid, ok := management.NormalizeUUID(id)
			if !ok {
				continue
			}
			r, err := resource.LoadRecord[storedRule](tx, kindRule, scope.Parent(), uuid)
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			if err := s.rules.Modify(&view{Tx: tx, Scope: scope}, r, func() { r.OrderKey = key.(int64) }); err != nil {
				return err
			}
		}
		return nil
	})
}
