module countersign.dev/cadence-parser

go 1.26.0

require github.com/onflow/cadence v1.10.6

require (
	github.com/SaveTheRbtz/mph v0.1.1-0.20240117162131-4166ec7869bc // indirect
	github.com/logrusorgru/aurora/v4 v4.0.0 // indirect
	github.com/turbolent/prettier v0.0.0-20220320183459-661cc755135d // indirect
	golang.org/x/xerrors v0.0.0-20240903120638-7835f813f4da // indirect
)

// The same table without a search at each start; see there.
replace github.com/SaveTheRbtz/mph => ./mph
