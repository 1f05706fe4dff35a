package errortracking

import (
	"context"
	"encoding/json"
	"github.com/bunting-flags/bunting/management"
	"maps"
	"math"
	"slices"
)

// Service has the assignment rules (§4.2) and issues (decision 24) of all projects.
type Service struct {
	Desk management.Desk[management.Tx]
	// Events is the log out of whose exceptions issues are made. Nil: none are made.
	Events EventLog
}

// kindRule is an assignment rule of a project: Sort is its order, then its age.
const kindRule = "assignment_rule"

const (
	// MaxRules is how many assignment rules a project may have.
	MaxRules = 1000
	// ruleScope is what the log of changes calls a rule.
	ruleScope = "ErrorTrackingAssignmentRule"
)

// AssignmentRule says whom issues are assigned to that its filters match.
type AssignmentRule struct {
	ID string `json:"id"`
	// Filters are the property group as it was sent: see ruleFilters.
	Filters  json.RawMessage `json:"filters"`
	Assignee *Assignee       `json:"assignee"`
	// OrderKey orders the rules, lowest first; of equal ones the older is first.
	OrderKey int64 `json:"order_key"`
	// Disabled is nil while the rule is in use.
	Disabled *RuleFailure `json:"disabled_data"`
}

// RuleFailure is why a rule is not used any more: the error, and the issue and
// the properties of the event that it was tried on.
type RuleFailure struct {
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
	{Name: "filters", Type: management.Object, Required: true, Help: "a property group; filters of type event, feature, person and error_tracking_issue"},
	{Name: "assignee", Type: management.Any, Null: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null for nobody`},
}

// RuleOrderFields are what a change of the order brings.
var RuleOrderFields = management.Fields{
	{Name: "orders", Type: management.Object, Required: true, Help: "the order_key of rules by id"},
}

// ruleKeys are the numbers that an order_key may be.
const ruleKeys = math.MaxInt32

// Rules returns a page of rules in their order.
func (s Service) Rules(ctx context.Context, st *management.Standing, p management.Page) (management.List[AssignmentRule], error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (management.List[AssignmentRule], error) {
		return management.ListRecords[AssignmentRule](tx, management.Query{Kind: kindRule, Parent: management.ProjectParent(st.Project.ID), Offset: p.Offset, Limit: p.Limit})
	})
}

// Rule returns one rule.
func (s Service) Rule(ctx context.Context, st *management.Standing, id string) (*AssignmentRule, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (*AssignmentRule, error) {
		r, err := ruleOf(tx, st.Project.ID, id)
		if err != nil {
			return nil, err
		}
		return &r.AssignmentRule, nil
	})
}

func ruleOf(tx management.Tx, project int64, id string) (*storedRule, error) {
	id, ok := management.NormalUUID(id)
	if !ok {
		return nil, management.ErrNotFound()
	}
	r, err := tx.Get(kindRule, management.ProjectParent(project), id)
	if err == nil && r == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return management.Decode[storedRule](r)
}

func putRule(tx management.Tx, project int64, r *storedRule) error {
	// The keys are moved up so that the texts of negative ones are in order too.
	sort := management.SortNumber(r.OrderKey+ruleKeys) + "/" + management.SortNumber(r.Number)
	return tx.Put(&management.Record{Kind: kindRule, Parent: management.ProjectParent(project), ID: r.ID, Sort: sort, Data: management.Encode(r)})
}

// CreateRule makes a rule, the last of those with the order_key 0.
func (s Service) CreateRule(ctx context.Context, st *management.Standing, b management.Body) (*AssignmentRule, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*AssignmentRule, error) {
		r := &storedRule{AssignmentRule: AssignmentRule{ID: s.Desk.NewID()}}
		v, err := RuleFields.Create(b)
		if err == nil {
			err = r.set(tx, st, v)
		}
		if err != nil {
			return nil, err
		}
		parent := management.ProjectParent(st.Project.ID)
		_, rules, err := tx.List(management.Query{Kind: kindRule, Parent: parent, Limit: 1})
		if err != nil {
			return nil, err
		}
		if rules >= MaxRules {
			return nil, management.Fault("", "A project can have at most %d assignment rules.", MaxRules)
		}
		if r.Number, err = tx.Next(kindRule); err != nil {
			return nil, err
		}
		if err := putRule(tx, st.Project.ID, r); err != nil {
			return nil, err
		}
		return &r.AssignmentRule, s.Desk.Note(tx, st.Caller, parent, ruleScope, r.ID, "", nil, r.AssignmentRule)
	})
}

// set takes over what a body says. New filters put a disabled rule into use again
// (§7).
func (r *storedRule) set(tx management.Tx, st *management.Standing, v management.Values) error {
	if v.Has("filters") {
		filters := v.Raw("filters")
		if _, err := compileRule(filters); err != nil {
			return err
		}
		r.Filters, r.Disabled = filters, nil
	}
	if v.Has("assignee") {
		a, err := readAssignee(tx, st, v.Raw("assignee"))
		if err != nil {
			return err
		}
		r.Assignee = a
	}
	return nil
}

// UpdateRule changes the filters or the assignee of a rule. put: the filters have
// to be there.
func (s Service) UpdateRule(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) error {
	return s.Desk.Store.Write(ctx, func(tx management.Tx) error {
		r, err := ruleOf(tx, st.Project.ID, id)
		if err != nil {
			return err
		}
		before := r.AssignmentRule
		v, err := RuleFields.Update(b, put)
		if err != nil {
			return err
		}
		if err := r.set(tx, st, v); err != nil {
			return err
		}
		if err := putRule(tx, st.Project.ID, r); err != nil {
			return err
		}
		return s.Desk.Note(tx, st.Caller, management.ProjectParent(st.Project.ID), ruleScope, r.ID, "", before, r.AssignmentRule)
	})
}

// DeleteRule takes a rule away for good.
func (s Service) DeleteRule(ctx context.Context, st *management.Standing, id string) error {
	return s.Desk.Store.Write(ctx, func(tx management.Tx) error {
		r, err := ruleOf(tx, st.Project.ID, id)
		if err != nil {
			return err
		}
		parent := management.ProjectParent(st.Project.ID)
		if err := tx.Delete(kindRule, parent, r.ID); err != nil {
			return err
		}
		return s.Desk.Note(tx, st.Caller, parent, ruleScope, r.ID, "", r.AssignmentRule, nil)
	})
}

// ReorderRules gives rules their order_key. Ids of no rule are passed over.
func (s Service) ReorderRules(ctx context.Context, st *management.Standing, b management.Body) error {
	v, err := RuleOrderFields.Create(b)
	if err != nil {
		return err
	}
	var orders map[string]json.RawMessage
	if err := json.Unmarshal(v.Raw("orders"), &orders); err != nil {
		return management.Fault("orders", "Expected a dictionary of whole numbers.")
	}
	if len(orders) > management.MaxItems {
		return management.Coded(management.CodeMaxLength, "orders", "Ensure this field has no more than %d elements.", management.MaxItems)
	}
	return s.Desk.Store.Write(ctx, func(tx management.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(orders)) {
			field := management.Field{Name: "orders__" + id, Type: management.Int, Least: -ruleKeys, Most: ruleKeys}
			key, err := field.Read(orders[id])
			if err != nil {
				return err
			}
			uuid, ok := management.NormalUUID(id)
			if !ok {
				continue
			}
			record, err := tx.Get(kindRule, management.ProjectParent(st.Project.ID), uuid)
			if err != nil {
				return err
			}
			r, err := management.Decode[storedRule](record)
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			before := r.AssignmentRule
			r.OrderKey = key.(int64)
			if err := putRule(tx, st.Project.ID, r); err != nil {
				return err
			}
			if err := s.Desk.Note(tx, st.Caller, management.ProjectParent(st.Project.ID), ruleScope, r.ID, "", before, r.AssignmentRule); err != nil {
				return err
			}
		}
		return nil
	})
}
