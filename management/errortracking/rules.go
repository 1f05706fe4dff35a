package errortracking

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Config says what a Service stands on. Only Desk is required.
type Config struct {
	Env management.Env[management.Tx]
	// Events is the log out of whose exceptions issues are made. Nil: none are made.
	Events EventLog
}

// Service has the assignment rules (§4.2) and issues (decision 24) of all projects.
// New makes one.
type Service struct {
	Config
	rules  management.Resource[management.Tx, storedRule, AssignmentRule]
	issues management.Resource[management.Tx, storedIssue, Issue]
}

// New makes a Service.
func New(c Config) *Service { return &Service{c, c.ruleResource(), c.issueResource()} }

// kindRule is an assignment rule of a project: Sort is its order, then its age.
const kindRule = "assignment_rule"

// maxRules is how many assignment rules a project may have.
const maxRules = 1000

// view is a transaction and in whose name it runs.
type view = management.View[management.Tx]

// inProject is the view of a project in nobody's name.
func inProject(tx management.Tx, project int64) *view {
	return &view{Tx: tx, Scope: &management.Scope{Project: &management.ProjectRecord{ID: project}}}
}

// AssignmentRule says whom issues are assigned to that its filters match.
type AssignmentRule struct {
	ID string `json:"id"`
	// Filters are the property group as it was sent: see ruleFilters.
	Filters  json.RawMessage `json:"filters"`
	Assignee *assignee       `json:"assignee"`
	// OrderKey orders the rules, lowest first; of equal ones the older is first.
	OrderKey int64 `json:"order_key"`
	// Disabled is nil while the rule is in use.
	Disabled *ruleFailure `json:"disabled_data"`
}

// ruleFailure is why a rule is not used any more: the error, and the issue and
// the properties of the event that it was tried on.
type ruleFailure struct {
	Message string          `json:"message"`
	Issue   json.RawMessage `json:"issue"`
	Props   json.RawMessage `json:"props"`
}

// storedRule is a rule with what is not shown of it.
type storedRule struct {
	AssignmentRule
	// Number grows with every rule that is made.
	Number int64 `json:"number"`
}

// RuleFields are the writable fields of a rule.
var RuleFields = management.Fields{
	{Name: "filters", Type: management.Object, Required: true, Custom: true, Help: "a property group; filters of type event, feature, person and error_tracking_issue"},
	{Name: "assignee", Type: management.Any, Null: true, Custom: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null for nobody`},
}

// RuleOrderFields are what a change of the order brings.
var RuleOrderFields = management.Fields{
	{Name: "orders", Type: management.Object, Required: true, Help: "the order_key of rules by id"},
}

// ruleKeys are the numbers that an order_key may be.
const ruleKeys = math.MaxInt32

func (c *Config) ruleResource() management.Resource[management.Tx, storedRule, AssignmentRule] {
	return management.NewResource(&c.Env, management.Spec[management.Tx, storedRule, AssignmentRule]{
		Kind: kindRule, ActivityScope: "ErrorTrackingAssignmentRule", Fields: RuleFields,
		Header: func(_ *management.Scope, r *storedRule) management.RecordHeader {
			// The keys are moved up so that the texts of negative ones are in order too.
			return management.RecordHeader{ID: r.ID, Sort: management.SortNumber(r.OrderKey+ruleKeys) + "/" + management.SortNumber(r.Number)}
		},
		New: func(*view) (*storedRule, error) {
			return &storedRule{AssignmentRule: AssignmentRule{ID: c.Env.NewID()}}, nil
		},
		Rules: setRule,
		Show:  func(_ *view, r *storedRule) (*AssignmentRule, error) { return &r.AssignmentRule, nil },
	})
}

// setRule takes over what a body says. New filters put a disabled rule into use again
// (§7). A new rule is the last of those with the order_key 0.
func setRule(e *management.Edit[management.Tx, storedRule]) (err error) {
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
func (s Service) Rules(ctx context.Context, scope *management.Scope, p management.Page) (management.List[AssignmentRule], error) {
	return s.rules.List(ctx, scope, p)
}

// Rule returns one rule.
func (s Service) Rule(ctx context.Context, scope *management.Scope, id string) (*AssignmentRule, error) {
	return s.rules.Get(ctx, scope, id)
}

// CreateRule makes a rule.
func (s Service) CreateRule(ctx context.Context, scope *management.Scope, b management.Body) (*AssignmentRule, error) {
	return s.rules.Create(ctx, scope, b)
}

// UpdateRule changes the filters or the assignee of a rule. put: the filters have
// to be there.
func (s Service) UpdateRule(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) error {
	_, err := s.rules.Update(ctx, scope, id, b, put)
	return err
}

// DeleteRule takes a rule away for good.
func (s Service) DeleteRule(ctx context.Context, scope *management.Scope, id string) error {
	return s.rules.Delete(ctx, scope, id)
}

// ReorderRules gives rules their order_key. Ids of no rule are passed over.
func (s Service) ReorderRules(ctx context.Context, scope *management.Scope, b management.Body) error {
	v, err := RuleOrderFields.Create(b)
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
			r, err := management.LoadRecord[storedRule](tx, kindRule, scope.Parent(), uuid)
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
