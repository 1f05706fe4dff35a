package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Completion prints a script with which a shell completes the program's commands.
var Completion = Command{Name: "completion", Summary: "print a completion script for a shell", Run: completion, Help: completionHelp}

const completionHelp = `Usage: bunting completion bash|zsh|fish

Prints a shell script that completes commands, their actions and options:

  bash  source <(bunting completion bash)               in ~/.bashrc
  zsh   source <(bunting completion zsh)                in ~/.zshrc, after compinit
  fish  bunting completion fish > ~/.config/fish/completions/bunting.fish
`

var completions = map[string]func([]completionEntry) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

func completion(_ context.Context, p *Program, args []string) error {
	shells := []string{"bash", "zsh", "fish"}
	rest, err := ParseArgs(NewFlags("completion"), args)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return BadUsage("completion", "give a shell: bash, zsh or fish")
	case !slices.Contains(shells, rest[0]):
		return BadUsage("completion", "unknown shell %q, must be one of %s%s", rest[0], strings.Join(shells, ", "), DidYouMean(rest[0], shells, ""))
	}
	return p.Print(completions[rest[0]](p.completionEntries()))
}

// completionEntry lists the words that may follow the name of a command.
type completionEntry struct {
	name, summary string
	words         []string // actions
	options       []string // with their hyphens, sorted
}

// optionNamed finds the options in a help text, which names all of them.
var optionNamed = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)

func (p *Program) completionEntries() []completionEntry {
	out := []completionEntry{{name: "help", summary: "explain a command"}}
	for _, row := range p.Commands {
		c := completionEntry{name: row.Name, summary: row.Summary, words: row.Actions}
		out[0].words = append(out[0].words, c.name)
		c.options = append(optionNamed.FindAllString(row.Help, -1), "--help")
		slices.Sort(c.options)
		c.options = slices.Compact(c.options)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b completionEntry) int { return strings.Compare(a.name, b.name) })
	return out
}

// bashCompletion completes the first word with a command, the second with its actions, words that
// begin with a hyphen with its options, and other words with files.
func bashCompletion(list []completionEntry) string {
	var b strings.Builder
	b.WriteString(`_bunting() {
  local now="${COMP_WORDS[COMP_CWORD]}" words="" options=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "` + strings.Join(Names(list, func(c completionEntry) string { return c.name }), " ") + `" -- "$now"))
    return
  fi
  case "${COMP_WORDS[1]}" in
`)
	for _, c := range list {
		fmt.Fprintf(&b, "    %s) words=%q options=%q ;;\n", c.name, strings.Join(c.words, " "), strings.Join(c.options, " "))
	}
	b.WriteString(`  esac
  case "$now" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$now")) ;;
    *)
      if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$now"))
      else
        COMPREPLY=($(compgen -f -- "$now"))
      fi ;;
  esac
}
complete -o filenames -F _bunting bunting
`)
	return b.String()
}

// zshCompletion is like bashCompletion. words is zsh's own variable for the words of the line.
func zshCompletion(list []completionEntry) string {
	var b strings.Builder
	b.WriteString("#compdef bunting\n_bunting() {\n  local -a names actions options\n  names=(\n")
	for _, c := range list {
		fmt.Fprintf(&b, "    %s\n", quote(c.name+":"+c.summary))
	}
	b.WriteString("  )\n  if (( CURRENT == 2 )); then\n    _describe command names\n    return\n  fi\n  case \"${words[2]}\" in\n")
	for _, c := range list {
		fmt.Fprintf(&b, "    %s) actions=(%s); options=(%s) ;;\n", c.name, strings.Join(c.words, " "), strings.Join(c.options, " "))
	}
	b.WriteString("  esac\n  if [[ \"${words[CURRENT]}\" == -* ]]; then\n    compadd -- $options\n" +
		"  elif (( CURRENT == 3 && $#actions )); then\n    compadd -- $actions\n  else\n    _files\n  fi\n}\ncompdef _bunting bunting\n")
	return b.String()
}

// fishCompletion is like bashCompletion.
func fishCompletion(list []completionEntry) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "complete -c bunting -n __fish_use_subcommand -f -a %s -d %s\n", c.name, quote(c.summary))
		seenCommand := "'__fish_seen_subcommand_from " + c.name + "'"
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c bunting -n %s -a %s\n", seenCommand, quote(strings.Join(c.words, " ")))
		}
		for _, option := range c.options {
			fmt.Fprintf(&b, "complete -c bunting -n %s -l %s\n", seenCommand, strings.TrimPrefix(option, "--"))
		}
	}
	return b.String()
}

// quote returns a text in single quotes, as shells read it.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
