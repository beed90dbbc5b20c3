module github.com/SaveTheRbtz/mph

go 1.26.0
