# SPDX-License-Identifier: MIT
# The doctor tells the truth, and the program mends OpenBLAS's choice of kernels: version 0.3.21 takes
# processors it does not know for a Prescott of 2004.
set -u
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# The text or number under a key of one line of JSON.
value() {
    "$PLUMB_PYTHON" -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}
unset OPENBLAS_CORETYPE PLUMB_THREADS

plain=$("$PLUMB" doctor --json) || fail "plumb doctor --json exits $?"
instructions=$(echo "$plain" | value instructions)
kernel=$(echo "$plain" | value blas)
for key in version instructions threads cores blas blas_version blas_remedy hdf5 libsvm mpi onednn compiler build_type; do
    echo "$plain" | value $key >/dev/null || fail "doctor --json has no $key"
done
[ "$(echo "$plain" | value version)" = "$("$PLUMB" --version | cut -d' ' -f2)" ] || fail "version"
[ "$(PLUMB_THREADS=3 "$PLUMB" doctor --json | value threads)" = 3 ] || fail "PLUMB_THREADS=3 is not obeyed"
case $(echo "$plain" | value mpi) in True | False) ;; *) fail "mpi is neither there nor not" ;; esac

case $instructions in
avx2 | avx512)
    grep -qw avx2 /proc/cpuinfo || fail "doctor says $instructions, /proc/cpuinfo knows no avx2"
    [ "$kernel" != Prescott ] || fail "the kernels are Prescott's on a machine with $instructions"

    # Whatever the environment asks for, the kernels are not those of 2004.
    for old in Prescott Nehalem Core2; do
        table=$(OPENBLAS_CORETYPE=$old "$PLUMB" doctor) || fail "doctor with $old exits $?"
        case $table in *$old*) fail "OPENBLAS_CORETYPE=$old was not mended" ;; esac
        mended=$(OPENBLAS_CORETYPE=$old "$PLUMB" doctor --json)
        case $(echo "$mended" | value blas) in
        Haswell | SkylakeX | Zen | Cooperlake | SapphireRapids) ;;
        *) fail "mended to $(echo "$mended" | value blas)" ;;
        esac
        [ "$(echo "$mended" | value blas_remedy)" = None ] || fail "mended, yet a remedy is named"
    done

    # A choice of the user's that is not slow stays.
    [ "$(OPENBLAS_CORETYPE=Haswell "$PLUMB" doctor --json | value blas)" = Haswell ] ||
        fail "OPENBLAS_CORETYPE=Haswell was overruled"

    # Where somebody loaded OpenBLAS first it cannot be mended: the doctor says what to do. (Not
    # under a sanitizer, which wants to be the first to be loaded itself.)
    if [ -z "$PLUMB_SANITIZE" ]; then
        table=$(OPENBLAS_CORETYPE=Prescott LD_PRELOAD=libopenblas.so.0 timeout 20 "$PLUMB" doctor) ||
            fail "doctor with slow kernels exits $?"
        case $table in *Prescott*SLOW*OPENBLAS_CORETYPE=*) ;; *) fail "slow kernels are not called slow: $table" ;; esac
    fi
    ;;
portable) ;;
*) fail "instructions are \"$instructions\"" ;;
esac

# A name OpenBLAS does not know makes no loop.
timeout 20 env OPENBLAS_CORETYPE=NoSuchProcessor "$PLUMB" doctor >/dev/null 2>&1 ||
    fail "OPENBLAS_CORETYPE=NoSuchProcessor: exit $?"

table=$("$PLUMB" doctor) || fail "plumb doctor exits $?"
for word in instructions threads BLAS HDF5 libsvm MPI oneDNN "$kernel"; do
    case $table in *$word*) ;; *) fail "the table does not speak of $word" ;; esac
done

# The measuring part loads without oneDNN, MPI or HDF5, and OpenBLAS comes only when it is needed.
for file in "$PLUMB_BUILD/lib/libplumb.so" "$PLUMB"; do
    needs=$({ readelf -d "$file"; ldd "$file"; } 2>&1) || fail "ldd $file"
    if echo "$needs" | grep -iE 'hdf5|libmpi|dnnl|mkldnn|openblas'; then fail "$file loads what it must not"; fi
    echo "$needs" | grep -q libzip || fail "ldd $file shows no libzip: is this check awake?"
done

[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
