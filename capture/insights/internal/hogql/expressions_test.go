package hogql

import (
	"errors"
	"strings"
	"testing"
)

// expressionRow is a selected expression and its value as JSON. of is the clause that the row
// proves.
type expressionRow struct{ of, expr, want string }

// checkExpressions evaluates each expression as the only column of a query without a table.
func checkExpressions(t *testing.T, c Context, rows []expressionRow) {
	t.Helper()
	for _, row := range rows {
		checkExpression(t, row, c, "SELECT "+row.expr, nil)
	}
}

// checkProperties evaluates each expression over one event with the given properties.
func checkProperties(t *testing.T, c Context, properties map[string]string, rows []expressionRow) {
	t.Helper()
	for _, row := range rows {
		checkExpression(t, row, c, "SELECT "+row.expr+" FROM events", []event{{"view", "a", "2020-01-10T10:00:00Z", properties}})
	}
}

func checkExpression(t *testing.T, row expressionRow, c Context, query string, events []event) {
	t.Helper()
	_, got, err := runQuery(t, query, c, events)
	if err != nil {
		t.Errorf("%s: %s: %v", row.of, row.expr, err)
		return
	}
	if want := "[[" + row.want + "]]"; got != want {
		t.Errorf("%s: %s:\n got %s\nwant %s", row.of, row.expr, got, want)
	}
}

// rejectedRow is an expression that is an error. at is the erroneous part of the expression,
// and text the beginning of the message.
type rejectedRow struct{ of, expr, code, text, at string }

// checkRejected compares the error of each expression with its code, its text and the part of
// the query that its offsets select.
func checkRejected(t *testing.T, c Context, rows []rejectedRow) {
	t.Helper()
	for _, row := range rows {
		query := "SELECT " + row.expr + " FROM events"
		_, _, err := runQuery(t, query, c, fixtureH)
		checkFault(t, row, query, err)
	}
}

func checkFault(t *testing.T, row rejectedRow, query string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %s: got %v, want %s", row.of, row.expr, err, row.code)
		return
	}
	at := string([]rune(query)[e.Start:e.End])
	if e.Code != row.code || !strings.HasPrefix(e.Text, row.text) || at != row.at {
		t.Errorf("%s: %s:\n got %s at %q: %s\nwant %s at %q: %s", row.of, row.expr, e.Code, at, e.Text, row.code, row.at, row.text)
	}
}
