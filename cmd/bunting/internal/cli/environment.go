package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ProjectVariable names the project of every command that works in one.
const ProjectVariable = "BUNTING_PROJECT"

// Variables are those of the environment that commands read beside the settings of
// serve.
var Variables = []string{"BUNTING_CONFIG", "BUNTING_SERVER", "BUNTING_KEY", ProjectVariable, "BUNTING_PROJECT_KEY"}

// linkVariables are the names of variables that Kubernetes and Docker make for a service
// that is called bunting, or bunting-something.
var linkVariables = regexp.MustCompile(`^BUNTING(_.+)?_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_ADDR|_PORT|_PROTO)?)$`)

// isLinkVariable reports whether a variable is such a one, and nobody's mistake: a
// port alone, as people would write it, is none.
func isLinkVariable(name, value string) bool {
	return linkVariables.MatchString(name) && (name != "BUNTING_PORT" || strings.Contains(value, "://"))
}

// checkEnvironment refuses variables that are nearly ours: what they say would
// have no effect. Empty ones count as none.
func (p *Program) checkEnvironment() error {
	variables := slices.Concat(Variables, p.Settings)
	var unknown []string
	for name, value := range p.Env {
		if strings.HasPrefix(name, "BUNTING_") && value != "" && !slices.Contains(variables, name) && !isLinkVariable(name, value) {
			unknown = append(unknown, fmt.Sprintf("there is no variable %s%s", name, DidYouMean(name, variables, "")))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return Usage(strings.Join(unknown, "\n"), "see bunting help serve for its settings; commands for servers read "+strings.Join(Variables[1:], ", "))
}
