package main

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// didYouMean ends an error about an unknown name with the one that is most likely
// meant, if one is near.
func didYouMean(name string, known []string, prefix string) string {
	if near := flags.Nearest(name, known); near != "" {
		return "; did you mean " + prefix + near + "?"
	}
	return ""
}

// unknownOption puts an option that a command does not have into words.
func unknownOption(fs *flag.FlagSet, name string) error {
	var known []string
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	return badUsage(fs.Name(), "there is no option --%s%s", name, didYouMean(name, known, "--"))
}

// variables are those of the environment that commands read beside the settings of
// serve.
var variables = []string{"BUNTING_CONFIG", "BUNTING_SERVER", "BUNTING_KEY", projectEnv, "BUNTING_PROJECT_KEY"}

// linked are the names of variables that Kubernetes and Docker make for a service
// that is called bunting, or bunting-something.
var linked = regexp.MustCompile(`^BUNTING(_.+)?_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_ADDR|_PORT|_PROTO)?)$`)

// linkedService reports whether a variable is such a one, and nobody's mistake: a
// port alone, as people would write it, is none.
func linkedService(name, value string) bool {
	return linked.MatchString(name) && (name != "BUNTING_PORT" || strings.Contains(value, "://"))
}

// checkEnvironment refuses variables that are nearly ours: what they say would
// have no effect. Empty ones count as none.
func (p *program) checkEnvironment() error {
	known := slices.Clone(variables)
	for i := range settings {
		known = append(known, settings[i].env())
	}
	var unknown []string
	for name, value := range p.env {
		if strings.HasPrefix(name, "BUNTING_") && value != "" && !slices.Contains(known, name) && !linkedService(name, value) {
			unknown = append(unknown, fmt.Sprintf("there is no variable %s%s", name, didYouMean(name, known, "")))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return &usageError{strings.Join(unknown, "\n"), "see bunting help serve for its settings; commands for servers read " + strings.Join(variables[1:], ", ")}
}
