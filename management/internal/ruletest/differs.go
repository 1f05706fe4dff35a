package ruletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// differs says how an answer is not the one that is wanted, empty when it is.
func differs(want string, got any, err error) string {
	var wanted any
	isValue := json.Unmarshal([]byte(want), &wanted) == nil
	var told *management.Error
	switch {
	case err != nil && !errors.As(err, &told):
		return fmt.Sprintf("a fault: %v", err)
	case told != nil:
		field := told.Field
		if field == "" {
			field = "-"
		}
		is := fmt.Sprintf("%d %s %s %s", statuses[told.Kind], told.Code, field, told.Message)
		parts := strings.SplitN(want+"  ", " ", 4)
		for i, any := range []string{1: told.Code, 2: field} {
			if parts[i] == "*" {
				parts[i] = any
			}
		}
		want := strings.TrimSpace(strings.Join(parts, " "))
		if isValue || is != want && !strings.HasPrefix(is, want+" ") {
			return fmt.Sprintf("answers %s, want %s", is, want)
		}
		return ""
	case !isValue:
		return fmt.Sprintf("answers %s, want %s", management.Encode(got), want)
	}
	var is any
	if err := json.Unmarshal(management.Encode(got), &is); err != nil {
		return err.Error()
	}
	return holds("answer", wanted, is)
}

// holds says where a value has not what is wanted of it.
func holds(place string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		if len(want) > 0 {
			return holdsMembers(place, want, got)
		}
	case []any:
		return holdsElements(place, want, got)
	case string:
		if pattern, is := strings.CutPrefix(want, "(like) "); is {
			if text, _ := got.(string); !regexp.MustCompile(pattern).MatchString(text) {
				return fmt.Sprintf("%s is %v, want one like %s", place, got, pattern)
			}
			return ""
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, want %v", place, got, want)
	}
	return ""
}

// holdsMembers: an object may have more than what is wanted.
func holdsMembers(place string, want map[string]any, got any) string {
	members, _ := got.(map[string]any)
	for name, value := range want {
		at := place + "." + name
		member, there := members[name]
		switch absent := value == "(absent)"; {
		case there && absent:
			return at + " is there"
		case !there && !absent:
			return at + " is not there"
		case there:
			if problem := holds(at, value, member); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func holdsElements(place string, want []any, got any) string {
	list, is := got.([]any)
	if !is || len(list) != len(want) {
		return fmt.Sprintf("%s is %v, want %d elements", place, got, len(want))
	}
	for i := range want {
		if problem := holds(fmt.Sprintf("%s[%d]", place, i), want[i], list[i]); problem != "" {
			return problem
		}
	}
	return ""
}
