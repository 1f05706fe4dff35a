package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ProjectVariable is the environment variable that names the project of a command.
const ProjectVariable = "BUNTING_PROJECT"

// Variables are the environment variables that commands read in addition to the settings of serve.
var Variables = []string{"BUNTING_CONFIG", "BUNTING_SERVER", "BUNTING_KEY", ProjectVariable, "BUNTING_PROJECT_KEY"}

// linkVariables matches the variables that Kubernetes and Docker set for a service whose name is
// bunting, or begins with bunting-.
var linkVariables = regexp.MustCompile(`^BUNTING(_.+)?_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_ADDR|_PORT|_PROTO)?)$`)

// isLinkVariable reports whether a variable was set by Kubernetes or Docker. A BUNTING_PORT without
// "://" is not: it is the variable that a user would write by mistake.
func isLinkVariable(name, value string) bool {
	return linkVariables.MatchString(name) && (name != "BUNTING_PORT" || strings.Contains(value, "://"))
}

// checkEnvironment returns an error for unknown variables that begin with BUNTING_, since they
// would have no effect. Empty variables count as unset.
func (p *Program) checkEnvironment() error {
	variables := slices.Concat(Variables, p.Settings)
	var unknown []string
	for name, value := range p.Env {
		if strings.HasPrefix(name, "BUNTING_") && value != "" && !slices.Contains(variables, name) && !isLinkVariable(name, value) {
			unknown = append(unknown, fmt.Sprintf("unknown environment variable %s%s", name, DidYouMean(name, variables, "")))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return Usage(strings.Join(unknown, "\n"), "see bunting help serve for its settings; commands that call a server read "+strings.Join(Variables[1:], ", "))
}
