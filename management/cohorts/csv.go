package cohorts

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// memberKind is the kind of identifier that a MemberList contains.
type memberKind int

// The kinds of identifiers.
const (
	distinctIDs memberKind = iota // distinct ids of persons
	personIDs                     // UUIDs of persons
	emails                        // values of the person property email
)

// MemberList is a list of persons to add to a static cohort.
type MemberList struct {
	Kind   memberKind
	Values []string
}

// maxRows is the maximum number of rows of a CSV file with members, without the header.
const maxRows = 100_000

// memberHeaders are the recognized column headers (§5.2), in lower case. If several columns
// match, the first entry of this table wins.
var memberHeaders = []struct {
	kind  memberKind
	names []string
}{
	{personIDs, []string{"person_id", "person-id", "person .id"}},
	{distinctIDs, []string{"distinct_id", "distinct-id"}},
	{emails, []string{"email", "e-mail"}},
}

// utf8Mark is the byte order mark that may precede a UTF-8 file.
const utf8Mark = "\ufeff"

// ReadMembers reads the members of a static cohort from a CSV file (§5.2). A file with several
// columns needs a header with one of the names in memberHeaders. A file with a single column
// needs no header and then contains distinct ids. Invalid values are skipped. A file that is
// malformed, not UTF-8, too long, or without any valid id results in a *management.Error for the
// field csv.
func ReadMembers(file io.Reader) (*MemberList, error) {
	r := csv.NewReader(file)
	// -1 allows rows of different lengths, as spreadsheets write them.
	r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = -1, true, true
	first, err := r.Read()
	if err != nil {
		return nil, csvFault(err)
	}
	header := slices.Clone(first)
	header[0] = strings.TrimPrefix(header[0], utf8Mark)
	for len(header) > 1 && strings.TrimSpace(header[len(header)-1]) == "" { // a trailing comma does not add a column
		header = header[:len(header)-1]
	}
	list, column, hasHeader := memberColumn(header)
	if !hasHeader && len(header) > 1 {
		return nil, management.Fault("csv", "The file has several columns but none with ids: one must be named person_id, distinct_id or email. Found: %s", strings.ToValidUTF8(strings.Join(header, ", "), "?"))
	}
	// Without a header the first row already contains data.
	rows := 0
	if !hasHeader {
		if err := list.add(header[0]); err != nil {
			return nil, err
		}
		rows = 1
	}
	for ; ; rows++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvFault(err)
		}
		if rows == maxRows {
			return nil, management.Fault("csv", "The file has more than %d rows.", maxRows)
		}
		if column < len(row) {
			if err := list.add(row[column]); err != nil {
				return nil, err
			}
		}
	}
	if len(list.Values) == 0 {
		return nil, management.Fault("csv", "The file has no valid ids.")
	}
	return list, nil
}

// memberColumn returns an empty list of the right kind and the index of the column with the
// identifiers. Without a recognized header these are distinct ids in the first column, and
// hasHeader is false.
func memberColumn(header []string) (list *MemberList, column int, hasHeader bool) {
	for _, h := range memberHeaders {
		for i, name := range header {
			if slices.Contains(h.names, strings.ToLower(strings.TrimSpace(name))) {
				return &MemberList{Kind: h.kind}, i, true
			}
		}
	}
	return &MemberList{Kind: distinctIDs}, 0, false
}

// add appends a value to the list. Empty values and values that are invalid for the kind are
// ignored. It returns an error if the value is not UTF-8.
func (l *MemberList) add(value string) error {
	if !utf8.ValidString(value) {
		return management.Fault("csv", "The file is not UTF-8.")
	}
	value = strings.TrimSpace(value)
	// The result is empty for an invalid UUID, which is then skipped.
	if l.Kind == personIDs {
		value, _ = management.NormalizeUUID(value)
	}
	if value != "" && !strings.ContainsRune(value, 0) {
		l.Values = append(l.Values, value)
	}
	return nil
}

// csvFault converts an error of the CSV reader into a *management.Error for the field csv.
func csvFault(err error) error {
	var malformed *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return management.Fault("csv", "The file is empty.")
	case errors.As(err, &malformed):
		return management.Fault("csv", "The file is malformed: line %d, column %d: %s", malformed.Line, malformed.Column, malformed.Err)
	}
	return management.Fault("csv", "The file cannot be read.")
}
