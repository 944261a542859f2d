// SPDX-License-Identifier: MIT
// plumb: did this model learn the physics, or does it only produce plausible frames?
// This header includes all others.
#ifndef PLUMB_PLUMB_H
#define PLUMB_PLUMB_H

#include "plumb/array.h"
#include "plumb/audit.h"
#include "plumb/compare.h"
#include "plumb/dataset.h"
#include "plumb/distributed.h"
#include "plumb/dynamics.h"
#include "plumb/evaluation.h"
#include "plumb/file.h"
#include "plumb/flow.h"
#include "plumb/forecast.h"
#include "plumb/kappa.h"
#include "plumb/layout.h"
#include "plumb/loader.h"
#include "plumb/loops.h"
#include "plumb/model.h"
#include "plumb/phase_space.h"
#include "plumb/probe.h"
#include "plumb/record.h"
#include "plumb/report.h"
#include "plumb/rollout.h"
#include "plumb/state_forecast.h"
#include "plumb/status.h"
#include "plumb/surprise.h"
#include "plumb/surprise_study.h"
#include "plumb/sweep.h"
#include "plumb/symetric.h"
#include "plumb/system.h"
#include "plumb/training.h"
#include "plumb/world.h"

#endif
