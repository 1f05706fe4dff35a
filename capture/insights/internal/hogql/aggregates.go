package hogql

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// caseInsensitiveAggregates are the aggregates whose names are not case-sensitive (§2.9.8).
var caseInsensitiveAggregates = []string{"count", "sum", "min", "max", "avg", "any"}

// aggregates is the table by name. It is filled by init.
var aggregates = map[string]*aggregate{}

func init() {
	for i := range aggregateRows {
		aggregates[aggregateRows[i].name] = &aggregateRows[i]
	}
}

// findAggregate returns the aggregate with a name, or nil. conditional reports whether the
// name has the suffix If.
func findAggregate(name string) (a *aggregate, conditional bool) {
	if a = aggregates[name]; a != nil {
		return a, false
	}
	if lower := strings.ToLower(name); slices.Contains(caseInsensitiveAggregates, lower) {
		return aggregates[lower], false
	}
	if base, ok := strings.CutSuffix(name, "If"); ok {
		return aggregates[base], true
	}
	return nil, false
}

// aggregateRows is the table of aggregates (§2.9.8).
var aggregateRows = []aggregate{
	// count(DISTINCT …) is the number of different combinations of arguments.
	{name: "count", args: "a*", result: constantType(countType), start: func(a *aggregation) state {
		if a.distinct {
			return &uniqState{}
		}
		return &countState{}
	}},
	// sum, avg, min and max are null if there are no values; the sum is not 0.
	{name: "sum", args: "n", result: numberLikeAll, empty: true, start: func(*aggregation) state { return &sumState{} }},
	{name: "avg", args: "n", result: constantType(floatType), empty: true, start: func(*aggregation) state { return &avgState{} }},
	{name: "min", args: "a", result: likeFirst, empty: true, start: func(*aggregation) state { return &extremeState{sign: -1} }},
	{name: "max", args: "a", result: likeFirst, empty: true, start: func(*aggregation) state { return &extremeState{sign: 1} }},
	// uniq is computed exactly, like uniqExact.
	{name: "uniq", args: "a+", result: constantType(countType), start: func(*aggregation) state { return &uniqState{} }},
	{name: "uniqExact", args: "a+", result: constantType(countType), start: func(*aggregation) state { return &uniqState{} }},
	// The default of the parameter is 0.5, so that median is quantile without a parameter.
	{name: "quantile", args: "n", result: constantType(floatType), empty: true, params: 1, check: checkFractions, start: quantileOf(false)},
	{name: "median", args: "n", result: constantType(floatType), empty: true, start: quantileOf(false)},
	{name: "quantiles", args: "n", result: constantType(floatType.ListOf()), empty: true, params: 100, check: checkFractions, start: quantileOf(true)},
	// These aggregates use the times of the rows, so that their results do not depend on the
	// order in which rows are added.
	{name: "any", args: "a", result: likeFirst, empty: true, start: func(*aggregation) state { return &anyState{} }},
	{name: "anyLast", args: "a", result: likeFirst, empty: true, start: func(*aggregation) state { return &anyState{last: true} }},
	{name: "argMax", args: "aa", result: likeFirst, empty: true, start: func(*aggregation) state { return &argState{sign: 1} }},
	{name: "argMin", args: "aa", result: likeFirst, empty: true, start: func(*aggregation) state { return &argState{sign: -1} }},
	// The optional parameter limits the number of elements.
	{name: "groupArray", args: "a", result: listOfFirst, params: 1, check: checkLimits, start: func(*aggregation) state { return &arrayState{} }},
	{name: "groupUniqArray", args: "a", result: listOfFirst, params: 1, check: checkLimits, start: func(*aggregation) state { return &arrayState{index: map[string]int{}} }},
	// The suffix selects the variance of a population or of a sample; stddev is its square
	// root.
	{name: "varPop", args: "n", result: constantType(floatType), empty: true, start: func(*aggregation) state { return &varState{} }},
	{name: "varSamp", args: "n", result: constantType(floatType), empty: true, start: func(*aggregation) state { return &varState{sample: true} }},
	{name: "stddevPop", args: "n", result: constantType(floatType), empty: true, start: func(*aggregation) state { return &varState{root: true} }},
	{name: "stddevSamp", args: "n", result: constantType(floatType), empty: true, start: func(*aggregation) state { return &varState{sample: true, root: true} }},
}

// checkFractions checks parameters that must be from 0 to 1.
func checkFractions(params []Value) string {
	for _, p := range params {
		if !p.isNumber() || !(p.float() >= 0 && p.float() <= 1) {
			return "takes parameters from 0 to 1"
		}
	}
	return ""
}

// checkLimits checks parameters that must be integers and not negative.
func checkLimits(params []Value) string {
	for _, p := range params {
		if p.kind != Int || p.n < 0 {
			return "takes a whole number as its parameter"
		}
	}
	return ""
}

// countState is the state of count.
type countState struct{ n int64 }

func (s *countState) add(*aggregation, *Row)      { s.n++ }
func (s *countState) result(*aggregation) Value   { return IntOf(s.n) }
func (s *uniqState) add(a *aggregation, _ *Row)   { s.seen.add(a.env, a.key()) }
func (s *uniqState) result(*aggregation) Value    { return IntOf(int64(len(s.seen))) }
func (s *sumState) add(a *aggregation, _ *Row)    { s.sum.add(a.args[0]) }
func (s *sumState) result(*aggregation) Value     { return s.sum.value }
func (s *extremeState) result(*aggregation) Value { return s.best }
func (s *anyState) result(*aggregation) Value     { return s.value.Value }
func (s *argState) result(*aggregation) Value     { return s.value.Value }
func (s *avgState) add(a *aggregation, _ *Row)    { s.sum.add(a.args[0]); s.n++ }
func (s *quantileState) add(a *aggregation, _ *Row) {
	s.values = append(s.values, a.args[0].float())
	a.env.reserveLater(16) // the slice grows by doubling
}

// uniqState is the state of uniq and count(DISTINCT …). The result is exact.
type uniqState struct{ seen keySet }

// sum adds numbers. Integers are added exactly as long as they fit into 64 bits.
type sum struct{ value Value }

// add adds a number. The first one replaces null, so that the sum of no values is null.
func (s *sum) add(v Value) {
	if s.value.kind == Null {
		s.value = v
		return
	}
	s.value = add(s.value, v)
}

// sumState is the state of sum.
type sumState struct{ sum sum }

// avgState is the state of avg.
type avgState struct {
	sum sum
	n   int64
}

// result returns the average as a float, also if all values are integers.
func (s *avgState) result(*aggregation) Value {
	if s.n == 0 {
		return Value{}
	}
	return FloatOf(s.sum.value.float() / float64(s.n))
}

// extremeState is the state of min and max. sign is 1 for max.
type extremeState struct {
	sign int
	best Value
}

// add stores the value if it is greater than the best value so far or, for min, less.
func (s *extremeState) add(a *aggregation, _ *Row) {
	v := a.args[0]
	if s.best.kind != Null && order(v, s.best)*s.sign <= 0 {
		return
	}
	a.env.reserveLater(v.size() - s.best.size())
	s.best = v.clone()
}

// quantileState is the state of quantile, median and quantiles. It stores all values.
type quantileState struct {
	values []float64
	// many reports whether the result is a list with one quantile for each parameter.
	many bool
}

// quantileOf returns the start function of quantile, or of quantiles if many is true.
func quantileOf(many bool) func(*aggregation) state {
	return func(*aggregation) state { return &quantileState{many: many} }
}

// result sorts the values and computes the quantiles.
func (s *quantileState) result(a *aggregation) Value {
	if len(s.values) == 0 {
		return Value{}
	}
	slices.Sort(s.values)
	if s.many {
		all := make([]Value, len(a.params))
		for i, p := range a.params {
			all[i] = FloatOf(quantile(s.values, p.float()))
		}
		return ListOf(all)
	}
	p := 0.5
	if len(a.params) == 1 {
		p = a.params[0].float()
	}
	return FloatOf(quantile(s.values, p))
}

// quantile interpolates linearly between the neighbors of the position (n-1)·p of sorted
// values (§2.4.2).
func quantile(sorted []float64, p float64) float64 {
	at := float64(len(sorted)-1) * p
	low := int(math.Floor(at))
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// timedValue is a value together with the time and ID of its row.
type timedValue struct {
	Value
	time, id int64
}

// set replaces the value by a copy of v, from the row r.
func (t *timedValue) set(a *aggregation, v Value, r *Row) {
	a.env.reserveLater(v.size() - t.size())
	*t = timedValue{v.clone(), r.Time, r.ID}
}

// compareTimed orders values by the time of their rows, then by ID.
func compareTimed(a, b timedValue) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
}

// anyState is the state of any and anyLast: the first or last value in the order of time.
type anyState struct {
	last  bool
	value timedValue
}

// add stores the value if its row is earlier than that of the stored value or, for anyLast,
// later.
func (s *anyState) add(a *aggregation, r *Row) {
	if s.value.kind == Null || r.before(s.value.time, s.value.id) != s.last {
		s.value.set(a, a.args[0], r)
	}
}

// argState is the state of argMax and argMin: the value of the row with the greatest or least
// key. If keys are equal, the earliest row counts.
type argState struct {
	sign  int
	value timedValue
	by    Value
}

// add stores the value if its key is better than the best key so far, or if the keys are
// equal and its row is earlier.
func (s *argState) add(a *aggregation, r *Row) {
	by := a.args[1]
	if s.by.kind != Null {
		c := order(by, s.by) * s.sign
		if c < 0 || c == 0 && !r.before(s.value.time, s.value.id) {
			return
		}
	}
	s.value.set(a, a.args[0], r)
	a.env.reserveLater(by.size() - s.by.size())
	s.by = by.clone()
}

// arrayState is the state of groupArray and groupUniqArray: values in the order of time. If
// index is not nil, each value is collected once, with its first time.
type arrayState struct {
	all   []timedValue
	index map[string]int
}

// add appends the value. For groupUniqArray it updates the time of an equal value instead, if
// there is one.
func (s *arrayState) add(a *aggregation, r *Row) {
	if s.index != nil {
		key := a.key()
		if i, ok := s.index[string(key)]; ok {
			if r.before(s.all[i].time, s.all[i].id) {
				s.all[i].time, s.all[i].id = r.Time, r.ID
			}
			return
		}
		s.index[string(key)] = len(s.all)
		a.env.reserveLater(int64(len(key)) + 64)
	}
	a.env.reserveLater(a.args[0].size() + 60)
	s.all = append(s.all, timedValue{a.args[0].clone(), r.Time, r.ID})
	// Values beyond the limit are discarded from time to time, so that the memory is bounded.
	if limit := s.limit(a); limit > 0 && s.index == nil && len(s.all) >= 2*limit+100 {
		slices.SortStableFunc(s.all, compareTimed)
		for _, dropped := range s.all[limit:] {
			a.env.reserveLater(-dropped.size() - 60)
		}
		s.all = slices.Clone(s.all[:limit])
	}
}

// limit returns the greatest number of values, or -1 if there is no limit.
func (s *arrayState) limit(a *aggregation) int {
	if len(a.params) == 0 {
		return -1
	}
	return int(a.params[0].n)
}

// result returns the values in the order of time, up to the limit.
func (s *arrayState) result(a *aggregation) Value {
	slices.SortStableFunc(s.all, compareTimed)
	n := len(s.all)
	if limit := s.limit(a); limit >= 0 {
		n = min(n, limit)
	}
	list := make([]Value, n)
	for i := range list {
		list[i] = s.all[i].Value
	}
	return ListOf(list)
}

// varState is the state of the variances. It updates the mean and the sum of squared
// distances from the mean with each value, which is numerically stable.
type varState struct {
	// sample selects the variance of a sample, root the standard deviation.
	sample, root bool
	// n is the number of values, and dist the sum of the squared distances from the mean.
	n, mean, dist float64
}

// add implements Welford's algorithm.
func (s *varState) add(a *aggregation, _ *Row) {
	x := a.args[0].float()
	s.n++
	d := x - s.mean
	s.mean += d / s.n
	s.dist += d * (x - s.mean)
}

// result returns null if there is no value, or only one value of a sample.
func (s *varState) result(*aggregation) Value {
	n := s.n
	if s.sample {
		n--
	}
	if n <= 0 {
		return Value{}
	}
	v := s.dist / n
	if s.root {
		v = math.Sqrt(v)
	}
	return FloatOf(v)
}
