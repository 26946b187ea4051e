#ifndef DASH_DRIVER_REGISTRATION_H
#define DASH_DRIVER_REGISTRATION_H

namespace mlir {
class DialectRegistry;
namespace dash {

/// Registers everything that dash itself adds: its dialect and its passes. Plugins load this into a
/// host tool.
void registerDash(DialectRegistry &registry);
void registerDashPasses();

/// The upstream dialects that a compiled program may use beside dash: functions, memory and
/// arithmetic.
void registerDialectsOfPrograms(DialectRegistry &registry);

/// The upstream dialects and passes that are used together with dash programs.
void registerUpstream(DialectRegistry &registry);

} // namespace dash
} // namespace mlir

#endif // DASH_DRIVER_REGISTRATION_H
