package sdk

import (
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
)

// flagsQuery contains the query parameters of /flags (§9.2). Empty parameters count as absent; if a
// parameter is repeated, the first value is used.
type flagsQuery struct {
	HasV        bool
	V           int // 1 if the value is not an integer
	HasConfig   bool
	Config      bool
	Compression string // in lower case, not validated; unpack rejects unknown names
	Token       string

	// OnlySurveyFlags is the parameter only_evaluate_survey_feature_flags.
	OnlySurveyFlags bool
}

// parseQuery parses the raw query of a request. Invalid parameters are ignored.
func parseQuery(raw string) (q flagsQuery) {
	hasShortV, hasOnly := false, false
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		if value == "" {
			continue
		}
		name, value = unpack.QueryText(name), unpack.QueryText(value)
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

// queryBool returns false for the usual spellings of false, and true for all other values.
func queryBool(text string) bool {
	switch strings.ToLower(text) {
	case "false", "0", "no", "off":
		return false
	}
	return true
}
