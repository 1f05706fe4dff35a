// Command flaglint reports Go code that reads a flag that does not exist:
//
//	go vet -vettool=$(which flaglint) -definitions=$PWD/flags.json ./...
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	"github.com/bunting-flags/bunting/adapters/flaglint"
)

func main() { singlechecker.Main(flaglint.Analyzer) }
