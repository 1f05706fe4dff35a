package hogql

import (
	"errors"
	"fmt"
	"testing"
)

// The amounts of fixtureH are 10, "20" and 5.5, at 10:00 and 12:30 on 10 January and at 23:30
// on the 11th; the other three events have none.
func TestAggregate_Rows(t *testing.T) {
	for _, row := range []expressionRow{
		{"count of rows", "count()", "6"},
		{"count of a star", "count(*)", "6"},
		{"count of values", "count(properties.amount)", "3"},
		{"count of a null", "count(NULL)", "0"},
		{"count of a constant", "count(1)", "6"},
		{"count of two arguments counts rows that have both", "count(properties.amount, properties.item)", "2"},
		{"count of distinct values", "count(DISTINCT event)", "2"},
		{"count of distinct pairs", "count(DISTINCT event, distinct_id)", "5"},
		{"count of distinct pairs without nulls", "count(DISTINCT distinct_id, properties.item)", "2"},
		{"the name in any case", "COUNT()", "6"},
		{"sum of numbers and numeric texts", "sum(properties.amount)", "35.5"},
		{"sum of integers is an integer", "sum(length(event))", "21"}, // 3 · 3 + 3 · 4
		{"sum of words", "sum(properties.item)", "null"},
		{"sum of distinct values", "sum(DISTINCT length(event))", "7"},
		{"avg", "avg(length(event))", "3.5"},
		{"avg of no values", "avg(properties.none)", "null"},
		{"min of numbers before texts", "min(properties.amount)", "5.5"},
		{"max of numbers before texts", "max(properties.amount)", `"20"`},
		{"min of texts by bytes", "min(properties.item)", `"Pen"`},
		{"max of times", "max(timestamp)", `"2020-01-13T09:15:45Z"`},
		{"min of nothing", "min(properties.none)", "null"},
		{"uniq", "uniq(distinct_id)", "3"},
		{"uniq of pairs", "uniq(event, distinct_id)", "5"},
		{"uniq leaves out null", "uniq(properties.item)", "2"},
		{"uniqExact", "uniqExact(distinct_id)", "3"},
		{"uniq of a number and its text", "uniq(toString(toFloat(properties.amount)))", "3"},
		{"median", "median(properties.amount)", "10"},
		{"quantile without a parameter is the median", "quantile(properties.amount)", "10"},
		{"quantile at position 0.5", "quantile(0.25)(properties.amount)", "7.75"}, // (5.5 + 10) / 2
		{"quantile at position 1.8", "quantile(0.9)(properties.amount)", "18"},    // 10 + 0.8 · 10
		{"the least", "quantile(0)(properties.amount)", "5.5"},
		{"the greatest", "quantile(1)(properties.amount)", "20"},
		{"quantiles", "quantiles(0.25, 0.5, 1)(properties.amount)", "[7.75,10,20]"},
		{"quantile of no values", "quantile(0.9)(properties.none)", "null"},
		{"quantiles of no values", "quantiles(0.9)(properties.none)", "null"},
		{"any is the first in time", "any(distinct_id)", `"a"`},
		{"any leaves out null", "any(properties.url)", `"https://www.site.com/a/b?c=1"`},
		{"anyLast is the last in time", "anyLast(event)", `"view"`},
		{"anyLast leaves out null", "anyLast(properties.item)", `"Pen"`},
		{"argMax", "argMax(distinct_id, timestamp)", `"a"`},
		{"argMax of a null is left out", "argMax(properties.item, timestamp)", `"Pen"`},
		{"argMax by a null is left out", "argMax(event, toFloat(properties.amount))", `"buy"`},
		{"argMin", "argMin(distinct_id, toFloat(properties.amount))", `"b"`},
		{"argMin: of equal rows the earliest", "argMin(timestamp, event)", `"2020-01-10T10:00:00Z"`},
		{"argMax: of equal rows the earliest", "argMax(timestamp, event)", `"2020-01-12T00:30:00Z"`},
		{"groupArray", "groupArray(distinct_id)", `["a","a","b","b","c","a"]`},
		{"groupArray leaves out null", "groupArray(properties.amount)", `[10,"20",5.5]`},
		{"groupArray of the first two", "groupArray(2)(distinct_id)", `["a","a"]`},
		{"groupArray of none", "groupArray(0)(distinct_id)", "[]"},
		{"groupUniqArray", "groupUniqArray(distinct_id)", `["a","b","c"]`},
		{"groupUniqArray of the first two", "groupUniqArray(2)(distinct_id)", `["a","b"]`},
		{"varPop", "round(varPop(length(event)), 9)", "0.25"},  // three 3 and three 4: mean 3.5
		{"varSamp", "round(varSamp(length(event)), 9)", "0.3"}, // 6 · 0.25 / 5
		{"stddevPop", "stddevPop(length(event))", "0.5"},
		{"stddevSamp squared", "round(pow(stddevSamp(length(event)), 2), 9)", "0.3"},
		{"varSamp of one value", "varSampIf(length(event), timestamp < '2020-01-10 11:00')", "null"},
		{"varPop of one value", "varPopIf(length(event), timestamp < '2020-01-10 11:00')", "0"},
		{"countIf", "countIf(event = 'buy')", "3"},
		{"countIf of a null condition", "countIf(properties.amount > 6)", "2"},
		{"sumIf", "sumIf(properties.amount, distinct_id = 'a')", "30"},
		{"avgIf", "avgIf(properties.amount, distinct_id = 'a')", "15"},
		{"minIf", "minIf(toFloat(properties.amount), distinct_id = 'a')", "10"},
		{"maxIf", "maxIf(toFloat(properties.amount), distinct_id = 'b')", "5.5"},
		{"uniqIf", "uniqIf(distinct_id, event = 'buy')", "2"},
		{"anyIf", "anyIf(distinct_id, event = 'view')", `"b"`},
		{"argMinIf", "argMinIf(distinct_id, timestamp, event = 'view')", `"b"`},
		{"argMaxIf", "argMaxIf(distinct_id, timestamp, event = 'buy')", `"b"`},
		{"groupArrayIf", "groupArrayIf(distinct_id, event = 'view')", `["b","c","a"]`},
		{"quantileIf", "quantileIf(0.5)(properties.amount, distinct_id = 'a')", "15"},
		{"medianIf", "medianIf(properties.amount, distinct_id = 'b')", "5.5"},
		{"an expression of aggregates", "sum(properties.amount) / count() + 1", "6.916666666666667"}, // 35.5 / 6 + 1
		{"a function of an aggregate", "arrayStringConcat(arraySort(groupUniqArray(event)), '+')", `"buy+view"`},
		{"a lambda over an aggregate", "arrayMap(x -> upper(x), groupUniqArray(event))", `["BUY","VIEW"]`},
		{"a condition on an aggregate", "if(count() > 5, 'many', 'few')", `"many"`},
	} {
		checkExpression(t, row, Context{}, "SELECT "+row.expr+" FROM events", fixtureH)
	}
}

func TestAggregate_Rejected(t *testing.T) {
	checkRejected(t, Context{}, []rejectedRow{
		{"an aggregate in an aggregate", "sum(length(any(event)))", TypeError, `Aggregate "any" may not stand in an aggregate at line 1, column 19`, "any(event)"},
		{"an aggregate in the condition", "countIf(count() > 1)", TypeError, `Aggregate "count" may not stand in an aggregate`, "count()"},
		{"sum of a text", "sum(event)", TypeError, `Function "sum" expects a number, not String: "event"`, "event"},
		{"sum of two arguments", "sum(1, 2)", TypeError, `Function "sum" takes 1 to 1 arguments, not 2`, "sum(1, 2)"},
		{"avg of none", "avg()", TypeError, `Function "avg" takes 1 to 1 arguments, not 0`, "avg()"},
		{"a star in another aggregate", "uniq(*)", SyntaxError, `Unexpected "*" at line 1, column 13: expected an expression`, "*"},
		{"a star in a conditional count", "countIf(*)", SyntaxError, `Unexpected "*"`, "*"},
		{"no condition", "countIf()", TypeError, `Function "countIf" takes a condition`, "countIf()"},
		{"a condition that is a text", "countIf(event)", TypeError, `Function "countIf" expects a condition, not String: "event"`, "event"},
		{"only a condition", "sumIf(event = 'a')", TypeError, `Function "sumIf" takes 1 to 1 arguments, not 0`, "sumIf(event = 'a')"},
		{"a fraction above 1", "quantile(1.1)(properties.amount)", TypeError, `Function "quantile" takes parameters from 0 to 1`, "quantile(1.1)(properties.amount)"},
		{"a negative fraction", "quantile(-0.1)(properties.amount)", TypeError, `Function "quantile" takes parameters from 0 to 1`, "quantile(-0.1)(properties.amount)"},
		{"a fraction that is a text", "quantile('0.5')(properties.amount)", TypeError, `Function "quantile" takes parameters from 0 to 1`, "quantile('0.5')(properties.amount)"},
		{"two fractions", "quantile(0.1, 0.2)(properties.amount)", TypeError, `Function "quantile" takes 1 parameters, not 2`, "quantile(0.1, 0.2)(properties.amount)"},
		{"a fraction of the median", "median(0.5)(properties.amount)", TypeError, `Function "median" takes 0 parameters, not 1`, "median(0.5)(properties.amount)"},
		{"a fraction of a row", "quantile(length(event))(properties.amount)", SyntaxError, `Unexpected "length(event)" at line 1, column 17: expected a number or a text`, "length(event)"},
		{"a fraction as a limit", "groupArray(1.5)(event)", TypeError, `Function "groupArray" takes a whole number as its parameter`, "groupArray(1.5)(event)"},
		{"a negative limit", "groupArray(-1)(event)", TypeError, `Function "groupArray" takes a whole number as its parameter`, "groupArray(-1)(event)"},
		{"DISTINCT of nothing", "count(DISTINCT)", SyntaxError, `Unexpected ")"`, ")"},
		{"DISTINCT parameters", "quantile(DISTINCT 0.5)(properties.amount)", SyntaxError, `Unexpected "("`, "("},
		{"a case-sensitive aggregate", "Uniq(event)", UnknownFunction, `Unknown function "Uniq" at line 1, column 8`, "Uniq"},
		{"an unknown aggregate with the suffix", "frobIf(1, 1)", UnknownFunction, `Unknown function "frobIf"`, "frobIf"},
		{"a field outside of the aggregate", "count() + length(event)", TypeError, `Field "event" is neither grouped nor inside an aggregate at line 1, column 25`, "event"},
	})
}

// A program and an aggregation evaluate one expression over rows, for other packages.
func TestAggregate_Expressions(t *testing.T) {
	scope := testScope()
	x, err := ParseExpr("sum(properties.amount) / count(DISTINCT distinct_id)")
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.CompileAggregate(scope, Context{})
	if err != nil {
		t.Fatal(err)
	}
	all, some, empty := a.New(), a.New(), a.New()
	for i, e := range fixtureH {
		if err := all.Add(rowOf(t, scope, e, i+1)); err != nil {
			t.Fatal(err)
		}
		if e.id == "a" {
			if err := some.Add(rowOf(t, scope, e, i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		of    string
		state *State
		want  float64
		ok    bool
	}{
		{"all rows", all, 35.5 / 3, true},
		{"the rows of one person", some, 30, true},
		{"no rows", empty, 0, false},
	} {
		v, err := c.state.Result()
		got, ok := v.Num()
		if err != nil || ok != c.ok || ok && got != c.want {
			t.Errorf("%s: got %v, %t, %v, want %v, %t", c.of, got, ok, err, c.want, c.ok)
		}
	}
	for _, c := range []rejectedRow{
		{"no aggregate (§2.4.2)", "properties.amount", TypeError, `Field "properties.amount" is neither grouped nor inside an aggregate at line 1, column 1`, "properties.amount"},
		{"a constant", "1 + 1", TypeError, `There is no aggregate in "1 + 1" at line 1, column 1`, "1 + 1"},
		{"a field beside the aggregate", "count() + length(event)", TypeError, `Field "event" is neither grouped`, "event"},
		{"an unknown field", "sum(nothing)", UnknownField, `Unknown field "nothing" at line 1, column 5`, "nothing"},
	} {
		x, err := ParseExpr(c.expr)
		if err == nil {
			_, err = x.CompileAggregate(testScope(), Context{})
		}
		checkFault(t, c, c.expr, err)
	}
}

func TestAggregate_Program(t *testing.T) {
	scope := testScope()
	x, err := ParseExpr("if(properties.amount > 6, concat(event, '!'), NULL)")
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.Compile(scope, Context{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i, e := range fixtureH {
		v, err := p.Eval(rowOf(t, scope, e, i+1))
		if err != nil {
			t.Fatal(err)
		}
		text, ok := p.Text(v)
		got += fmt.Sprintf("%s %t;", text, ok)
	}
	if want := "buy! true;buy! true; false; false; false; false;"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []rejectedRow{
		{"an aggregate", "count() > 1", TypeError, `Aggregate "count" may not stand in this expression at line 1, column 1`, "count()"},
		{"an alias", "event AS e", SyntaxError, `Unexpected "AS" at line 1, column 7: expected the end`, "AS"},
		{"two expressions", "event, event", SyntaxError, `Unexpected "," at line 1, column 6: expected the end`, ","},
		{"nothing", "", SyntaxError, `Unexpected end of query at line 1, column 1: expected an expression`, ""},
		{"a star", "*", SyntaxError, `Unexpected "*" at line 1, column 1: expected an expression`, "*"},
	} {
		x, err := ParseExpr(c.expr)
		if err == nil {
			_, err = x.Compile(testScope(), Context{})
		}
		checkFault(t, c, c.expr, err)
	}
	// An error of a row ends the evaluation.
	x, err = ParseExpr("1 DIV (length(event) - 3)")
	if err != nil {
		t.Fatal(err)
	}
	scope = testScope()
	if p, err = x.Compile(scope, Context{}); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := p.Eval(rowOf(t, scope, fixtureH[0], 1)); !errors.As(err, &e) || e.Code != TypeError {
		t.Errorf("got %v, want a division by zero", err)
	}
}
