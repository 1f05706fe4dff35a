module github.com/bunting-flags/bunting/ci/runtests

go 1.26.0
