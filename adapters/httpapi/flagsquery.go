package httpapi

import (
	"strconv"
	"strings"
)

// flagsQuery is what the query of /flags says (§9.2). Empty parameters count
// as absent; of equal ones the first counts.
type flagsQuery struct {
	HasV        bool
	V           int // 1 where the text is no integer
	HasConfig   bool
	Config      bool
	Compression string // in lower case; any name may stand here, unpack judges
	Token       string

	// OnlySurveyFlags is only_evaluate_survey_feature_flags.
	OnlySurveyFlags bool
}

// parseQuery reads the raw query of a request. Nothing in it is an error.
func parseQuery(raw string) (q flagsQuery) {
	hasShortV, hasOnly := false, false
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		if value == "" {
			continue
		}
		name, value = queryText(name), queryText(value)
		switch name {
		case "v":
			if !hasShortV {
				hasShortV, q.HasV, q.V = true, true, versionNumber(value)
			}
		case "version":
			if !q.HasV {
				q.HasV, q.V = true, versionNumber(value)
			}
		case "config":
			if !q.HasConfig {
				q.HasConfig, q.Config = true, queryBool(value)
			}
		case "compression":
			if q.Compression == "" {
				q.Compression = strings.ToLower(value)
			}
		case "token":
			if q.Token == "" {
				q.Token = value
			}
		case "only_evaluate_survey_feature_flags":
			if !hasOnly {
				hasOnly, q.OnlySurveyFlags = true, queryBool(value)
			}
		}
	}
	return q
}

func versionNumber(text string) int {
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 1
	}
	return int(v)
}

// queryBool: the spellings of false; everything else that is there is true.
func queryBool(text string) bool {
	switch strings.ToLower(text) {
	case "false", "0", "no", "off":
		return false
	}
	return true
}

// queryText undoes the percent escapes and plus signs of a query or form.
func queryText(s string) string {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s
	}
	return string(unescape([]byte(s)))
}
