#!/usr/bin/env bash
# An array job for Slurm: each task of the array executes a part of an experiment.
#   sbatch --array=1-16 experiments/slurm_array.sh SPEC.toml /shared/results
# For other batch systems, set the two numbers from the variables of your system.
#SBATCH --job-name=ltr-duel
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue
set -euo pipefail

spec=${1:?the TOML file of the experiment}
out=${2:?the folder of results, on a path that all machines can access}
export LTR_DUEL_HOME=${LTR_DUEL_HOME:-$(dirname "$out")/ltr_duel_cache} # all machines must be able to access it
export LTR_DUEL_PROGRESS=${LTR_DUEL_PROGRESS:-1}

first=${SLURM_ARRAY_TASK_MIN:-1}
part=$((${SLURM_ARRAY_TASK_ID:-1} - first + 1))
parts=${SLURM_ARRAY_TASK_COUNT:-1}

exec ltr-duel run "$spec" --out "$out" --shard "$part/$parts" --jobs "${SLURM_CPUS_PER_TASK:--1}"
