/** A change to a file of a Go module; `before` is in it exactly once. */
export type Patch = { module: string; file: string } & ({ before: string; after: string } | { isRemoved: true });

const EMULATOR = "github.com/onflow/flow-emulator";
const FLOW_GO = "github.com/onflow/flow-go";
const PEBBLE = "github.com/cockroachdb/pebble/v2";

/** The changes with which the Flow emulator is built. */
export const EMULATOR_PATCHES: readonly Patch[] = [
  {
    // The debugger ignores --host and listens on all interfaces.
    module: EMULATOR,
    file: "server/debugger/debugger.go",
    before: 'fmt.Sprintf(":%d", d.port)',
    after: 'fmt.Sprintf("127.0.0.1:%d", d.port)',
  },
  {
    // A signature with a key index that the account does not have panics and leaves the block unfinished:
    // every later submission is then refused.
    module: EMULATOR,
    file: "emulator/blockchain.go",
    before: "\tkey := acc.Keys[sig.KeyIndex]\n",
    after: "\tif int(sig.KeyIndex) >= len(acc.Keys) {\n\t\treturn nil\n\t}\n\tkey := acc.Keys[sig.KeyIndex]\n",
  },
  {
    // Each value of a block is a transaction of its own, which waits for the disk four times.
    module: EMULATOR,
    file: "storage/sqlite/store.go",
    before: 'sql.Open("sqlite", dbUrl)',
    after: 'sql.Open("sqlite", dbUrl+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")',
  },
  // The rest takes a sixth of the build away, which a first start waits for: mocks, which only tests and one
  // line of the server need, a client of Redis, and zstd in C beside the one in Go.
  { module: FLOW_GO, file: "storage/pebble/testutil.go", isRemoved: true },
  { module: FLOW_GO, file: "engine/access/rest/router/router_test_helpers.go", isRemoved: true },
  { module: FLOW_GO, file: "module/state_synchronization/indexer/ledger_trie_updates_test_utils.go", isRemoved: true },
  {
    module: EMULATOR,
    file: "server/access/grpc.go",
    before: '\tmockModule "github.com/onflow/flow-go/module/mock"\n',
    after: '\t"github.com/onflow/flow-go/module"\n',
  },
  {
    module: EMULATOR,
    file: "server/access/grpc.go",
    before: '\tme := new(mockModule.Local)\n\tme.On("NodeID").Return(flowgo.ZeroID)\n',
    after: "\tme := localNode{}\n",
  },
  {
    module: EMULATOR,
    file: "server/access/grpc.go",
    before: "func NewGRPCServer(",
    after:
      "type localNode struct{ module.Local }\n\n" +
      "func (localNode) NodeID() flowgo.Identifier { return flowgo.ZeroID }\n\nfunc NewGRPCServer(",
  },
  {
    module: EMULATOR,
    file: "storage/util/defaultStore.go",
    before: '\t"github.com/onflow/flow-emulator/storage/redis"\n',
    after: '\t"errors"\n',
  },
  {
    module: EMULATOR,
    file: "storage/util/defaultStore.go",
    before: "return redis.New(url)",
    after: 'return nil, errors.New("built without Redis")',
  },
  { module: PEBBLE, file: "sstable/block/compression_cgo.go", isRemoved: true },
  {
    module: PEBBLE,
    file: "sstable/block/compression_nocgo.go",
    before: "//go:build !cgo\n// +build !cgo\n",
    after: "",
  },
];
