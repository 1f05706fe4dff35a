module github.com/bunting-flags/bunting/ci/lint

go 1.26.0

tool golang.org/x/exp/cmd/apidiff

require (
	codeberg.org/polyfloyd/go-errorlint v1.9.0
	github.com/BurntSushi/toml v1.5.0
	github.com/hashicorp/go-version v1.7.0
	github.com/mgechev/revive v1.12.0
	github.com/uudashr/gocognit v1.3.0
	golang.org/x/tools v0.52.0
	honnef.co/go/tools v0.8.2
	mvdan.cc/unparam v0.0.0-20260823230713-2fa3d841b0c8
)

require (
	codeberg.org/chavacava/garif v0.2.0 // indirect
	github.com/fatih/color v1.18.0 // indirect
	github.com/fatih/structtag v1.2.0 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
