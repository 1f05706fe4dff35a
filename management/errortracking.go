package management

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// ErrorTracking are assignment rules (§4.2) and issues (decision 24).
type ErrorTracking struct{ *core }

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

// AssignmentRuleFields are the writable fields of a rule.
var AssignmentRuleFields = Fields{
	{Name: "filters", Type: Object, Required: true, Help: "a property group; filters of type event, feature, person and error_tracking_issue"},
	{Name: "assignee", Type: Any, Null: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null for nobody`},
}

// RuleOrderFields are what a change of the order brings.
var RuleOrderFields = Fields{
	{Name: "orders", Type: Object, Required: true, Help: "the order_key of rules by id"},
}

// ruleKeys are the numbers that an order_key may be.
const ruleKeys = math.MaxInt32

// Rules returns a page of rules in their order.
func (s ErrorTracking) Rules(ctx context.Context, st *Standing, p Page) (List[AssignmentRule], error) {
	return read(ctx, &s.desk, func(tx Tx) (List[AssignmentRule], error) {
		return listOfRecords[AssignmentRule](tx, Query{Kind: kindRule, Parent: ProjectParent(st.Project.ID), Offset: p.Offset, Limit: p.Limit})
	})
}

// Rule returns one rule.
func (s ErrorTracking) Rule(ctx context.Context, st *Standing, id string) (*AssignmentRule, error) {
	return read(ctx, &s.desk, func(tx Tx) (*AssignmentRule, error) {
		r, err := ruleOf(tx, st.Project.ID, id)
		if err != nil {
			return nil, err
		}
		return &r.AssignmentRule, nil
	})
}

func ruleOf(tx Tx, project int64, id string) (*storedRule, error) {
	id, ok := NormalUUID(id)
	if !ok {
		return nil, errNotFound()
	}
	r, err := tx.Get(kindRule, ProjectParent(project), id)
	if err == nil && r == nil {
		err = errNotFound()
	}
	if err != nil {
		return nil, err
	}
	return decode[storedRule](r)
}

func putRule(tx Tx, project int64, r *storedRule) error {
	// The keys are moved up so that the texts of negative ones are in order too.
	sort := sortNumber(r.OrderKey+ruleKeys) + "/" + sortNumber(r.Number)
	return tx.Put(&Record{Kind: kindRule, Parent: ProjectParent(project), ID: r.ID, Sort: sort, Data: encode(r)})
}

// CreateRule makes a rule, the last of those with the order_key 0.
func (s ErrorTracking) CreateRule(ctx context.Context, st *Standing, b Body) (*AssignmentRule, error) {
	return write(ctx, &s.desk, func(tx Tx) (*AssignmentRule, error) {
		r := &storedRule{AssignmentRule: AssignmentRule{ID: s.desk.newID()}}
		v, err := AssignmentRuleFields.Create(b)
		if err == nil {
			err = r.set(tx, st, v)
		}
		if err != nil {
			return nil, err
		}
		parent := ProjectParent(st.Project.ID)
		_, rules, err := tx.List(Query{Kind: kindRule, Parent: parent, Limit: 1})
		if err != nil {
			return nil, err
		}
		if rules >= MaxRules {
			return nil, Fault("", "A project can have at most %d assignment rules.", MaxRules)
		}
		if r.Number, err = tx.Next(kindRule); err != nil {
			return nil, err
		}
		if err := putRule(tx, st.Project.ID, r); err != nil {
			return nil, err
		}
		return &r.AssignmentRule, s.desk.note(tx, st.Caller, parent, ruleScope, r.ID, "", nil, r.AssignmentRule)
	})
}

// set takes over what a body says. New filters put a disabled rule into use again
// (§7).
func (r *storedRule) set(tx Tx, st *Standing, v Values) error {
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
func (s ErrorTracking) UpdateRule(ctx context.Context, st *Standing, id string, b Body, put bool) error {
	return s.desk.Store.Write(ctx, func(tx Tx) error {
		r, err := ruleOf(tx, st.Project.ID, id)
		if err != nil {
			return err
		}
		before := r.AssignmentRule
		v, err := AssignmentRuleFields.update(b, put)
		if err != nil {
			return err
		}
		if err := r.set(tx, st, v); err != nil {
			return err
		}
		if err := putRule(tx, st.Project.ID, r); err != nil {
			return err
		}
		return s.desk.note(tx, st.Caller, ProjectParent(st.Project.ID), ruleScope, r.ID, "", before, r.AssignmentRule)
	})
}

// DeleteRule takes a rule away for good.
func (s ErrorTracking) DeleteRule(ctx context.Context, st *Standing, id string) error {
	return s.desk.Store.Write(ctx, func(tx Tx) error {
		r, err := ruleOf(tx, st.Project.ID, id)
		if err != nil {
			return err
		}
		parent := ProjectParent(st.Project.ID)
		if err := tx.Delete(kindRule, parent, r.ID); err != nil {
			return err
		}
		return s.desk.note(tx, st.Caller, parent, ruleScope, r.ID, "", r.AssignmentRule, nil)
	})
}

// ReorderRules gives rules their order_key. Ids of no rule are passed over.
func (s ErrorTracking) ReorderRules(ctx context.Context, st *Standing, b Body) error {
	v, err := RuleOrderFields.Create(b)
	if err != nil {
		return err
	}
	var orders map[string]json.RawMessage
	if err := json.Unmarshal(v.Raw("orders"), &orders); err != nil {
		return Fault("orders", "Expected a dictionary of whole numbers.")
	}
	if len(orders) > MaxItems {
		return Coded(CodeMaxLength, "orders", "Ensure this field has no more than %d elements.", MaxItems)
	}
	return s.desk.Store.Write(ctx, func(tx Tx) error {
		for _, id := range slices.Sorted(maps.Keys(orders)) {
			field := Field{Name: "orders__" + id, Type: Int, Least: -ruleKeys, Most: ruleKeys}
			key, err := field.read(orders[id])
			if err != nil {
				return err
			}
			uuid, ok := NormalUUID(id)
			if !ok {
				continue
			}
			record, err := tx.Get(kindRule, ProjectParent(st.Project.ID), uuid)
			if err != nil {
				return err
			}
			r, err := decode[storedRule](record)
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
			if err := s.desk.note(tx, st.Caller, ProjectParent(st.Project.ID), ruleScope, r.ID, "", before, r.AssignmentRule); err != nil {
				return err
			}
		}
		return nil
	})
}
