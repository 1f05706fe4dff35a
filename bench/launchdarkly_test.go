package bench

import (
	"math"
	"testing"

	"github.com/launchdarkly/go-sdk-common/v3/ldcontext"
	"github.com/launchdarkly/go-sdk-common/v3/ldvalue"
	evaluation "github.com/launchdarkly/go-server-sdk-evaluation/v3"
	"github.com/launchdarkly/go-server-sdk-evaluation/v3/ldbuilders"
	"github.com/launchdarkly/go-server-sdk-evaluation/v3/ldmodel"
)

// ldStore is the evaluator's data provider: flags in memory.
type ldStore map[string]*ldmodel.FeatureFlag

func (s ldStore) GetFeatureFlag(key string) *ldmodel.FeatureFlag { return s[key] }
func (s ldStore) GetSegment(string) *ldmodel.Segment             { return nil }

// ldOperators translates operators; true means that the clause is negated.
var ldOperators = map[string]struct {
	op     ldmodel.Operator
	negate bool
}{
	"exact":     {ldmodel.OperatorIn, false},
	"is_not":    {ldmodel.OperatorIn, true},
	"icontains": {ldmodel.OperatorContains, false},
	"gte":       {ldmodel.OperatorGreaterThanOrEqual, false},
}

// ldFlag translates a row. Variation 0 is "off"; true, or the variants, follow. LaunchDarkly's
// weights are thousandths of a per cent.
func ldFlag(f Flag) *ldmodel.FeatureFlag {
	values := []ldvalue.Value{ldvalue.Bool(false), ldvalue.Bool(true)}
	shares := []Variant{{Share: 100}}
	if len(f.Variants) > 0 {
		values, shares = []ldvalue.Value{ldvalue.String("")}, f.Variants
		for _, v := range f.Variants {
			values = append(values, ldvalue.String(v.Key))
		}
	}
	b := ldbuilders.NewFlagBuilder(f.Key).On(true).Salt("salt").OffVariation(0).FallthroughVariation(0).Variations(values...)
	for _, c := range f.Conditions {
		outcome := ldbuilders.Variation(1)
		if c.Rollout < 100 || len(shares) > 1 {
			var weights []ldmodel.WeightedVariation
			for i, s := range shares {
				weights = append(weights, ldbuilders.Bucket(i+1, int(math.Round(s.Share*c.Rollout*10))))
			}
			if c.Rollout < 100 {
				weights = append(weights, ldbuilders.Bucket(0, int(math.Round((100-c.Rollout)*1000))))
			}
			outcome = ldbuilders.Rollout(weights...)
		}
		if len(c.Properties) == 0 {
			b.Fallthrough(outcome)
			continue
		}
		var clauses []ldmodel.Clause
		for _, p := range c.Properties {
			var order []ldvalue.Value
			switch v := p.Value.(type) {
			case []string:
				for _, s := range v {
					order = append(order, ldvalue.String(s))
				}
			default:
				order = append(order, ldvalue.CopyArbitraryValue(v))
			}
			o := ldOperators[p.Operator]
			clause := ldbuilders.Clause(p.Key, o.op, order...)
			clause.Negate = o.negate
			clauses = append(clauses, clause)
		}
		b.AddRule(ldbuilders.NewRuleBuilder().ID("rule").VariationOrRollout(outcome).Clauses(clauses...))
	}
	flag := b.Build()
	return &flag
}

func ldContext(u *User) ldcontext.Context {
	return ldcontext.NewBuilder(u.ID).SetString("country", u.Country).SetString("email", u.Email).
		SetString("plan", u.Plan).SetFloat64("age", u.Age).SetBool("beta", u.Beta).Build()
}

func loadLaunchDarkly(_ testing.TB, w Workload) contender {
	store, order := ldStore{}, make([]*ldmodel.FeatureFlag, len(w.Flags))
	for i, f := range w.Flags {
		order[i] = ldFlag(f)
		store[f.Key] = order[i]
	}
	evaluator := evaluation.NewEvaluator(store)

	var c contender
	c.answers = func(u *User) []Answer {
		got, context := make([]Answer, len(order)), ldContext(u)
		for i, f := range order {
			v := evaluator.Evaluate(f, context, nil).Detail.Value
			got[i] = Answer{v.BoolValue() || v.StringValue() != "", v.StringValue()}
		}
		return got
	}
	c.worker = func() func() {
		context, key := ldContext(&Ana), w.Flags[0].Key
		var last evaluation.Result
		if w.Single() {
			return func() { last = evaluator.Evaluate(store.GetFeatureFlag(key), context, nil) }
		}
		results := make([]evaluation.Result, len(order))
		return func() {
			for i, f := range order {
				results[i] = evaluator.Evaluate(f, context, nil)
			}
			_ = last
		}
	}
	return c
}

func BenchmarkLaunchDarkly(b *testing.B) { race(b, loadLaunchDarkly, possible) }
