package ruletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// diffAnswer describes the difference between a response and the expected one. It returns "" if
// they match.
func diffAnswer(want string, got any, err error) string {
	var wantValue any
	isValue := json.Unmarshal([]byte(want), &wantValue) == nil
	var apiErr *management.Error
	switch {
	case err != nil && !errors.As(err, &apiErr):
		return fmt.Sprintf("a fault: %v", err)
	case apiErr != nil:
		field := apiErr.Field
		if field == "" {
			field = "-"
		}
		answer := fmt.Sprintf("%d %s %s %s", statuses[apiErr.Kind], apiErr.Code, field, apiErr.Message)
		parts := strings.SplitN(want+"  ", " ", 4)
		for i, any := range []string{1: apiErr.Code, 2: field} {
			if parts[i] == "*" {
				parts[i] = any
			}
		}
		want := strings.TrimSpace(strings.Join(parts, " "))
		if isValue || answer != want && !strings.HasPrefix(answer, want+" ") {
			return fmt.Sprintf("answers %s, want %s", answer, want)
		}
		return ""
	case !isValue:
		return fmt.Sprintf("answers %s, want %s", storage.Encode(got), want)
	}
	var answer any
	if err := json.Unmarshal(storage.Encode(got), &answer); err != nil {
		return err.Error()
	}
	return diffValue("answer", wantValue, answer)
}

// diffValue describes the first difference between two values, at path.
func diffValue(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		if len(want) > 0 {
			return diffMembers(path, want, got)
		}
	case []any:
		return diffElements(path, want, got)
	case string:
		if pattern, isPattern := strings.CutPrefix(want, "(like) "); isPattern {
			if text, _ := got.(string); !regexp.MustCompile(pattern).MatchString(text) {
				return fmt.Sprintf("%s is %v, want one like %s", path, got, pattern)
			}
			return ""
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}

// diffMembers compares objects; got may have more members than want.
func diffMembers(path string, want map[string]any, got any) string {
	members, _ := got.(map[string]any)
	for name, value := range want {
		memberPath := path + "." + name
		member, exists := members[name]
		switch absent := value == "(absent)"; {
		case exists && absent:
			return memberPath + " is there"
		case !exists && !absent:
			return memberPath + " is not there"
		case exists:
			if problem := diffValue(memberPath, value, member); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// diffElements compares arrays, which must have the same length.
func diffElements(path string, want []any, got any) string {
	list, isList := got.([]any)
	if !isList || len(list) != len(want) {
		return fmt.Sprintf("%s is %v, want %d elements", path, got, len(want))
	}
	for i := range want {
		if problem := diffValue(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); problem != "" {
			return problem
		}
	}
	return ""
}
